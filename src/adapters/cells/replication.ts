import { createHash } from 'node:crypto';
import { escapeLiteral, type Client } from 'pg';
import { withLockRetries } from '../database/lockRetries.js';
import type { Queries } from '../database/statements.js';
import { ofTenant, type TenantTable } from './tenantTables.js';

/** The name of a move's publication, subscription and triggers; that of its slot begins with it. */
export const nameOfMove = (tenantId: string): string =>
  `ces_move_${createHash('sha256').update(tenantId).digest('hex').slice(0, 16)}`;

/** Short lock timeouts, because requests queue behind each attempt; one attempt a second for a minute. */
const PATIENCE = { timeoutMs: 200, pausesMs: Array.from({ length: 60 }, () => 1_000) };

/** Runs each statement in its own transaction, retrying while tables are locked: so requests wait only briefly. */
async function changeTables(client: Client, statements: readonly string[], log: (text: string) => void) {
  const waiting = [...statements].reverse();
  await client.query(`SET lock_timeout = ${PATIENCE.timeoutMs}`);
  await withLockRetries(PATIENCE, log, async () => {
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      await client.query(next);
      waiting.pop();
    }
  });
  await client.query('SET lock_timeout = 0');
}

/** Adds triggers that refuse changes of the tenant's rows once it is elsewhere. Moving it waits for running changes. */
export function addFence(
  source: Client,
  tables: readonly TenantTable[],
  tenantId: string,
  log: (text: string) => void,
) {
  const name = nameOfMove(tenantId);
  const trigger = (table: TenantTable, kind: string, events: string, row: string): string => `
    CREATE OR REPLACE TRIGGER ${name}_${kind} BEFORE ${events} ON ${table.name} FOR EACH ROW
    WHEN (${row}.${ofTenant(table, tenantId)}) EXECUTE FUNCTION require_tenant_here(${escapeLiteral(tenantId)})`;
  const statements = tables.map(
    (table) => `${trigger(table, 'write', 'INSERT OR UPDATE', 'NEW')}; ${trigger(table, 'delete', 'DELETE', 'OLD')}`,
  );
  return changeTables(source, statements, log);
}

export async function removeFence(source: Client, tenantId: string, log: (text: string) => void): Promise<void> {
  const { rows } = await source.query<{ statement: string }>(
    `SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) AS statement FROM pg_trigger WHERE tgname IN ($1, $2)`,
    [`${nameOfMove(tenantId)}_write`, `${nameOfMove(tenantId)}_delete`],
  );
  await changeTables(
    source,
    rows.map(({ statement }) => statement),
    log,
  );
}

const exists = async (client: Client, query: string, values: readonly string[]): Promise<boolean> =>
  (await client.query(query, [...values])).rowCount !== 0;

/** The name of a move's slot, with the oid of the database: databases of one server share slots, and ids of tenants. */
const SLOT = `$1 || '_' || (SELECT oid FROM pg_database WHERE datname = current_database())`;

const OWN = `subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Whether this database still sends, keeps for sending, or receives changes of the tenant's rows. */
export const isReplicated = (client: Client, tenantId: string): Promise<boolean> =>
  exists(
    client,
    `SELECT FROM pg_publication WHERE pubname = $1 UNION ALL SELECT FROM pg_replication_slots WHERE slot_name = ${SLOT}
     UNION ALL SELECT FROM pg_subscription WHERE ${OWN}`,
    [nameOfMove(tenantId)],
  );

/** Whether the source keeps the changes for the target: PostgreSQL invalidates a slot above max_slot_wal_keep_size. */
export const keepsChanges = (source: Client, tenantId: string): Promise<boolean> =>
  exists(source, `SELECT FROM pg_replication_slots WHERE slot_name = ${SLOT} AND wal_status <> 'lost'`, [
    nameOfMove(tenantId),
  ]);

/** Publishes a tenant's rows, and creates the slot that keeps later changes until the subscriber has them. @returns its name */
export async function publish(source: Client, tables: readonly TenantTable[], tenantId: string): Promise<string> {
  const name = nameOfMove(tenantId);
  if (!(await exists(source, 'SELECT FROM pg_publication WHERE pubname = $1', [name]))) {
    const filtered = tables.map((table) => `${table.name} WHERE (${ofTenant(table, tenantId)})`);
    await source.query(`CREATE PUBLICATION ${name} FOR TABLE ${filtered.join(', ')}`);
  }
  // Create the slot separately: a subscription to a database on the same server would wait for its own transaction.
  const { rows } = await source.query<{ slot: string; isThere: boolean }>(
    `SELECT ${SLOT} AS slot, EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ${SLOT}) AS "isThere"`,
    [name],
  );
  const [{ slot, isThere } = { slot: '', isThere: true }] = rows;
  if (!isThere) await source.query(`SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, [slot]);
  return slot;
}

/** Copies the published rows, then follows their changes. @param url address of the source for the target's server */
export async function subscribe(target: Client, tenantId: string, slot: string, url: string): Promise<void> {
  const name = nameOfMove(tenantId);
  if (await exists(target, `SELECT FROM pg_subscription WHERE ${OWN}`, [name])) return;
  // PostgreSQL logs the texts of statements, but not their values (log_parameter_max_length = 0): the password is a value.
  await target.query(`SELECT set_config('ces.source', $1, false)`, [url]);
  await target.query(`DO $$ BEGIN
    EXECUTE format('CREATE SUBSCRIPTION ${name} CONNECTION %L PUBLICATION ${name}
      WITH (create_slot = false, slot_name = ${slot}, disable_on_error = true)', current_setting('ces.source'));
    EXCEPTION WHEN OTHERS THEN RAISE EXCEPTION USING MESSAGE = SQLERRM, ERRCODE = SQLSTATE; END $$`);
}

/** The number of tables whose first copy is not complete. @throws Error if the subscription has stopped */
export async function waitingTables(target: Client, tenantId: string): Promise<number> {
  const { rows } = await target.query<{ enabled: boolean; waiting: number }>(
    `SELECT subenabled AS enabled, (SELECT count(*)::int FROM pg_subscription_rel
       WHERE srsubid = pg_subscription.oid AND srsubstate <> 'r') AS waiting FROM pg_subscription WHERE ${OWN}`,
    [nameOfMove(tenantId)],
  );
  if (rows[0]?.enabled) return rows[0].waiting;
  throw new Error(
    "The copy to the target has stopped: see the log of the target's PostgreSQL for the reason, then use --cancel.",
  );
}

/** Ends the replication of a tenant, even if it was only partly set up. Only the publication stays. */
export async function stopReplication(source: Client, target: Client, tenantId: string): Promise<void> {
  const name = nameOfMove(tenantId);
  // Slots of the first copy have the oid of a subscription, which is unique only with the target's system identifier.
  const { rows } = await target.query<{ syncSlots: string }>(
    `SELECT concat('pg_', oid, '_sync_%_', system_identifier) AS "syncSlots"
     FROM pg_subscription, pg_control_system() WHERE ${OWN}`,
    [name],
  );
  const [subscription] = rows;
  if (subscription) {
    await target.query(`ALTER SUBSCRIPTION ${name} DISABLE`);
    // Detach the slot, which is dropped below: otherwise the drop would wait forever for an unreachable source.
    await target.query(`ALTER SUBSCRIPTION ${name} SET (slot_name = NONE)`);
    await target.query(`DROP SUBSCRIPTION ${name}`);
  }
  await dropSlots(source, tenantId, subscription?.syncSlots);
}

/** Drops the slot of a move, and those of its first copy if a pattern of their names is given. */
export async function dropSlots(source: Client, tenantId: string, syncSlots?: string): Promise<void> {
  const slots = `FROM pg_replication_slots WHERE (slot_name = ${SLOT} OR slot_name LIKE $2)`;
  const ofMove = [nameOfMove(tenantId), syncSlots];
  await source.query(`SELECT pg_terminate_backend(active_pid, 5000) ${slots} AND active`, ofMove);
  await source.query(`SELECT pg_drop_replication_slot(slot_name) ${slots}`, ofMove);
}

/** Unused slots of first copies, whose names do not tell the move, or other subscription, to which they belong. */
export async function unusedSyncSlots(source: Client): Promise<string[]> {
  const { rows } = await source.query<{ name: string }>(
    `SELECT slot_name AS name FROM pg_replication_slots
     WHERE database = current_database() AND NOT active AND slot_name ~ '^pg_[0-9]+_sync_' ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}

/** Removes the publication. It is the last step: by the publication, `doctor` and `forget` see that others are missing. */
export async function unpublish(source: Client, tenantId: string): Promise<void> {
  await source.query(`DROP PUBLICATION IF EXISTS ${nameOfMove(tenantId)}`);
}

/** A move that no command is working on, and its parts in this database. */
export interface StoppedMove {
  readonly tenantId: string;
  readonly parts: readonly string[];
}

/** Moves that stopped before their end. Their slots keep WAL, and their tenants may be closed. */
export async function stoppedMoves({ everyTenant }: Queries): Promise<StoppedMove[]> {
  const moves = await everyTenant.rows<{ tenantId: string; isUnderWay: boolean }>`
    SELECT tenant_id AS "tenantId", place IN ('leaving', 'closed', 'arriving') AS "isUnderWay" FROM tenant_cell
    WHERE NOT EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
      WHERE locktype = 'advisory' AND datname = current_database()
        AND (classid::bigint << 32) | objid::bigint = hashtextextended('move ' || tenant_id, 0)) ORDER BY tenant_id`;
  const parts = await everyTenant.rows<{ kind: string; name: string }>`
    SELECT 'slot' AS kind, slot_name::text AS name FROM pg_replication_slots WHERE database = current_database()
    UNION ALL SELECT 'publication', pubname::text FROM pg_publication
    UNION ALL SELECT 'subscription', subname::text FROM pg_subscription JOIN pg_database ON pg_database.oid = subdbid
      WHERE datname = current_database()`;
  return moves.flatMap(({ tenantId, isUnderWay }) => {
    const own = parts
      .filter(({ name }) => name.startsWith(nameOfMove(tenantId)))
      .map(({ kind, name }) => `${kind} ${name}`);
    return isUnderWay || own.length > 0 ? { tenantId, parts: own } : [];
  });
}
