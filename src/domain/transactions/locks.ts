import type { Transaction } from '../../adapters/database/database.js';

// Events are told in the order in which their transactions first wrote (domain rule "Events and webhooks"). Transactions
// that change the same thing therefore take turns before they write: whoever waited for a row might have drawn its
// transaction id before those that it waited for. Advisory locks draw none, and serve first who came first.

/**
 * Waits until no other transaction has the turn of this thing, and keeps it to the end. It must be the first thing that a
 * transaction waits for, and nothing may be written before.
 * @param thing what is changed, with its tenant; two that share a hash only wait for one another
 */
export async function takeTurn(db: Transaction, thing: string): Promise<void> {
  await db.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${thing}, 0))`;
}

/** The same beside others that share it; whoever takes the turn alone waits for them, and they for it. */
export async function shareTurn(db: Transaction, thing: string): Promise<void> {
  await db.$executeRaw`SELECT pg_advisory_xact_lock_shared(hashtextextended(${thing}, 0))`;
}
