import type { DomainContext } from '../../context.js';

type Keys = readonly { readonly kid: string }[];

/** Whether one of the keys is recorded in the database, or no key is recorded yet. */
export async function areKnown({ db }: Pick<DomainContext, 'db'>, keys: Keys): Promise<boolean> {
  const known = new Set((await db.prisma.signingKey.findMany()).map(({ kid }) => kid));
  return known.size === 0 || keys.some(({ kid }) => known.has(kid));
}

/** Records the keys of this installation, so that a server with other keys is noticed. */
export async function addKnown({ db, now }: Pick<DomainContext, 'db' | 'now'>, keys: Keys): Promise<void> {
  const data = keys.map(({ kid }) => ({ kid, knownSince: now() }));
  await db.prisma.signingKey.createMany({ data, skipDuplicates: true });
}
