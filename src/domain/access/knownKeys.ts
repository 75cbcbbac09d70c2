import type { DomainContext } from '../../context.js';

type Keys = readonly { readonly kid: string }[];

/** Whether the database knows one of the keys, or none at all yet. */
export async function areKnown({ db }: Pick<DomainContext, 'db'>, keys: Keys): Promise<boolean> {
  const known = new Set((await db.prisma.signingKey.findMany()).map(({ kid }) => kid));
  return known.size === 0 || keys.some(({ kid }) => known.has(kid));
}

/** Records keys as those of this installation. */
export async function addKnown({ db, now }: Pick<DomainContext, 'db' | 'now'>, keys: Keys): Promise<void> {
  const data = keys.map(({ kid }) => ({ kid, knownSince: now() }));
  await db.prisma.signingKey.createMany({ data, skipDuplicates: true });
}
