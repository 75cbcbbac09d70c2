import type { Client } from 'pg';
import { sqlState } from '../database/databaseErrors.js';

export interface OwnCell {
  readonly name: string;
  readonly url: string;
  readonly object_store: string;
}

export type Place = 'leaving' | 'closed' | 'away' | 'arriving' | 'here';

/** A tenant's place according to the directory of one cell. */
export interface Entry {
  readonly cell: string;
  readonly place: Place;
  /** Seconds since the tenant got this place. */
  readonly seconds: number;
  readonly audit_through: string;
}

/** The cell to which this database belongs. @throws Error if no server with the variable CELL has started on it */
export async function ownCell(client: Client, side: string): Promise<OwnCell> {
  const { rows } = await client.query<OwnCell>('SELECT name, url, object_store FROM cell WHERE is_own');
  if (rows[0]) return rows[0];
  throw new Error(`The database of the ${side} belongs to no cell: set CELL for its servers, and start one of them.`);
}

export async function noteCell(client: Client, { name, url, object_store }: OwnCell): Promise<void> {
  await client.query(
    `INSERT INTO cell (name, url, object_store, is_own) VALUES ($1, $2, $3, false)
     ON CONFLICT (name) DO UPDATE SET url = excluded.url, object_store = excluded.object_store WHERE NOT cell.is_own`,
    [name, url, object_store],
  );
}

export async function entryOf(client: Client, tenantId: string): Promise<Entry | undefined> {
  const { rows } = await client.query<Entry>(
    `SELECT cell, place, extract(epoch FROM now() - since)::float AS seconds, audit_through::text FROM tenant_cell
     WHERE tenant_id = $1`,
    [tenantId],
  );
  return rows[0];
}

/** Sets a tenant's place if its present one is among `from`; null in `from` = no entry. @returns whether it was */
export async function setPlace(
  client: Client,
  tenantId: string,
  from: readonly (Place | null)[],
  place: Place,
  cell: string,
): Promise<boolean> {
  const insertion = from.includes(null)
    ? 'INSERT INTO tenant_cell (tenant_id, cell, place, since) VALUES ($1, $2, $3, now()) ON CONFLICT (tenant_id) DO '
    : '';
  const { rowCount } = await client.query(
    `${insertion}UPDATE ${insertion ? '' : 'tenant_cell'} SET cell = $2, place = $3::tenant_place, since = now()
     WHERE tenant_cell.tenant_id = $1 AND tenant_cell.place = ANY ($4::tenant_place[])`,
    [tenantId, cell, place, from.filter((one) => one !== null)],
  );
  return rowCount === 1;
}

/** Maximum wait of {@link closeTenant}, in milliseconds; meanwhile the tenant's new transactions wait behind it. */
const CLOSE_MS = 4_000;

/**
 * Waits for the tenant's transactions in progress, then refuses further changes of its data. The tenant's row is
 * changed last, so a copy with that change is complete. @throws Error if a transaction takes too long
 */
export async function closeTenant(client: Client, tenantId: string): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(`SET LOCAL lock_timeout = ${CLOSE_MS}`);
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('cell ' || $1, 0))`, [tenantId]);
    await client.query(
      `UPDATE tenant SET updated_at = clock_timestamp() FROM tenant_cell
       WHERE id = $1 AND tenant_id = $1 AND place = 'leaving'`,
      [tenantId],
    );
    await client.query(
      `UPDATE tenant_cell SET place = 'closed', since = now() WHERE tenant_id = $1 AND place = 'leaving'`,
      [tenantId],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    // SQLSTATE 55P03: lock timeout; 40P01: deadlock.
    if (!['55P03', '40P01'].includes(sqlState(error) ?? '')) throw error;
    const seconds = CLOSE_MS / 1_000;
    throw new Error(
      `A transaction of the tenant ${tenantId}, such as an import, takes longer than ${seconds} s. Repeat the move after it.`,
      { cause: error },
    );
  }
}

/** The time of a closed tenant's last change; a copy with the same time is complete. */
export async function lastChange(client: Client, tenantId: string): Promise<string | undefined> {
  const { rows } = await client.query<{ at: string }>(
    'SELECT extract(epoch FROM updated_at)::text AS at FROM tenant WHERE id = $1',
    [tenantId],
  );
  return rows[0]?.at;
}

/** Prevents other moves of this tenant until the connection ends; `doctor` sees by it that the move is running. */
export async function lockMove(client: Client, tenantId: string): Promise<void> {
  const { rows } = await client.query<{ owned: boolean }>(
    `SELECT pg_try_advisory_lock(hashtextextended('move ' || $1, 0)) AS owned`,
    [tenantId],
  );
  if (!rows[0]?.owned) throw new Error(`Another command is moving the tenant ${tenantId}. Wait until it ends.`);
}

/** Audit rows copied in one transaction. */
const AUDIT_BATCH = 10_000;

/**
 * Copies the tenant's audit rows, in order, to the target, which has a chain of its own for them. Skips rows
 * that an earlier stay of the tenant left there. Each batch saves its progress in tenant_cell, so a repeat continues
 * there.
 * @returns the number of rows read
 */
export async function appendAudit(source: Client, target: Client, tenantId: string): Promise<number> {
  const { rows: columns } = await source.query<{ list: string }>(
    `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS list FROM pg_attribute
     WHERE attrelid = 'audit_event'::regclass AND attnum > 0 AND NOT attisdropped`,
  );
  const list = columns[0]?.list ?? '';
  for (let total = 0; ;) {
    const { audit_through: after = '0' } = (await entryOf(target, tenantId)) ?? {};
    const { rows } = await source.query<{ through: string | null; count: number; batch: string }>(
      `SELECT max(position)::text AS through, count(*)::int AS count, json_agg(row ORDER BY position)::text AS batch
       FROM (SELECT * FROM audit_event WHERE tenant_id = $1 AND position > $2 ORDER BY position LIMIT ${AUDIT_BATCH}) AS row`,
      [tenantId, after],
    );
    const [found] = rows;
    if (!found?.through) return total;
    await target.query(
      `WITH counted AS (UPDATE tenant_cell SET audit_through = $2 WHERE tenant_id = $1)
       INSERT INTO audit_event (${list}) SELECT ${list} FROM json_populate_recordset(NULL::audit_event, $3) AS row
       ON CONFLICT DO NOTHING`,
      [tenantId, found.through, found.batch],
    );
    total += found.count;
  }
}
