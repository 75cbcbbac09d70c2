import type { TransactionContext } from '../transactions/transaction.js';

/** Numbers skipped per second since the backup: more than the service assigns in a second. */
const PER_SECOND = 1_000;
const MIN_SKIPPED = 1_000_000;

/**
 * Skips the positions and numbers that the lost database may have assigned since the backup: so a cursor of a
 * lost event is refused, and no number names two encounters or orders. Only the schema's owner may set sequences.
 */
export async function skipNumbers({ db: { everyTenant } }: TransactionContext, takenAt: Date): Promise<void> {
  const { skipped } = await everyTenant.row<{ skipped: bigint }>`
    SELECT greatest(ceil(extract(epoch FROM now() - ${takenAt}) * ${PER_SECOND}), ${MIN_SKIPPED})::bigint AS skipped`;
  await everyTenant.run`
    INSERT INTO event_counter AS counter (tenant_id, position, gap_start, gap_end)
    SELECT id, ${skipped}, 0, ${skipped} FROM tenant
    ON CONFLICT (tenant_id) DO UPDATE SET
      position = counter.position + ${skipped}, gap_start = counter.position, gap_end = counter.position + ${skipped}`;
  await everyTenant.run`UPDATE audit_counter SET position = position + ${skipped}`;
  await everyTenant.run`
    UPDATE webhook_cursor AS cursor SET position = gap_end FROM event_counter AS counter
    WHERE counter.tenant_id = cursor.tenant_id AND cursor.position = gap_start`;
  await everyTenant.run`
    SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, start_value) + ${skipped})
    FROM pg_sequences WHERE schemaname = 'public'`;
}
