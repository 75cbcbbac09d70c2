import type { Transaction } from '../../adapters/database/database.js';

// Events are ordered by transaction id. Writers of one record lock before their first write, so ids follow lock
// order; waiting on a row lock would not ensure that.

/**
 * Takes an exclusive advisory lock until commit. Must precede any write.
 * @param thing what is changed, with its tenant; a shared hash only makes two things wait for each other
 */
export async function lockExclusive(db: Transaction, thing: string): Promise<void> {
  await db.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${thing}, 0))`;
}

/** Shared variant: excludes only exclusive holders. */
export async function lockShared(db: Transaction, thing: string): Promise<void> {
  await db.$executeRaw`SELECT pg_advisory_xact_lock_shared(hashtextextended(${thing}, 0))`;
}
