import type { DomainContext } from '../context.js';

/** How far the time of a sandbox tenant is ahead of the world's, in milliseconds (domain rule "Sandbox"). */
export async function clockOffset({ db }: Pick<DomainContext, 'db'>, tenantId: string): Promise<number> {
  const { clockOffsetMs } = await db.tenant.findUniqueOrThrow({ where: { id: tenantId }, select: { clockOffsetMs: true } });
  return Number(clockOffsetMs);
}
