import { createHash } from 'node:crypto';
import { escapeLiteral, type Client } from 'pg';
import { withLockRetries } from '../database/lockRetries.js';
import { ofTenant, type TenantTable } from './tenantTables.js';

/** The name of all database objects that a tenant's move creates: publication, subscription, slot and triggers. */
export const nameOfMove = (tenantId: string): string =>
  `ces_move_${createHash('sha256').update(tenantId).digest('hex').slice(0, 16)}`;

/** Short lock timeouts, because requests queue behind each attempt; one attempt a second for a minute. */
const PATIENCE = { timeoutMs: 200, pausesMs: Array.from({ length: 60 }, () => 1_000) };

interface Side {
  readonly url: string;
  readonly client: Client;
}

/** Runs each statement in its own transaction, retrying while tables are locked: so requests wait only briefly. */
async function changeTables({ url, client }: Side, statements: readonly string[], log: (text: string) => void) {
  const waiting = [...statements].reverse();
  await client.query(`SET lock_timeout = ${PATIENCE.timeoutMs}`);
  await withLockRetries(url, client, PATIENCE, log, async () => {
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      await client.query(next);
      waiting.pop();
    }
  });
  await client.query('SET lock_timeout = 0');
}

/** Adds triggers that refuse changes of the tenant's rows once it is elsewhere. Moving it waits for running changes. */
export function addFence(source: Side, tables: readonly TenantTable[], tenantId: string, log: (text: string) => void) {
  const name = nameOfMove(tenantId);
  const trigger = (table: TenantTable, kind: string, events: string, row: string): string => `
    CREATE OR REPLACE TRIGGER ${name}_${kind} BEFORE ${events} ON ${table.name} FOR EACH ROW
    WHEN (${row}.${ofTenant(table, tenantId)}) EXECUTE FUNCTION require_tenant_here(${escapeLiteral(tenantId)})`;
  const statements = tables.map(
    (table) => `${trigger(table, 'write', 'INSERT OR UPDATE', 'NEW')}; ${trigger(table, 'delete', 'DELETE', 'OLD')}`,
  );
  return changeTables(source, statements, log);
}

export async function removeFence(source: Side, tenantId: string, log: (text: string) => void): Promise<void> {
  const { rows } = await source.client.query<{ statement: string }>(
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

/** Whether the source still sends, or keeps for sending, changes of the tenant's rows to another cell. */
export const isPublished = (source: Client, tenantId: string): Promise<boolean> =>
  exists(
    source,
    'SELECT FROM pg_publication WHERE pubname = $1 UNION ALL SELECT FROM pg_replication_slots WHERE slot_name = $1',
    [nameOfMove(tenantId)],
  );

/** Publishes a tenant's rows, and creates the slot that keeps later changes until the subscriber has them. */
export async function publish(source: Client, tables: readonly TenantTable[], tenantId: string): Promise<void> {
  const name = nameOfMove(tenantId);
  if (!(await exists(source, 'SELECT FROM pg_publication WHERE pubname = $1', [name]))) {
    const filtered = tables.map((table) => `${table.name} WHERE (${ofTenant(table, tenantId)})`);
    await source.query(`CREATE PUBLICATION ${name} FOR TABLE ${filtered.join(', ')}`);
  }
  // Create the slot separately: a subscription to a database on the same server would wait for its own transaction.
  if (!(await exists(source, 'SELECT FROM pg_replication_slots WHERE slot_name = $1', [name]))) {
    await source.query(`SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, [name]);
  }
}

const OWN = `subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Copies the published rows, then follows their changes. @param url address of the source for the target's server */
export async function subscribe(target: Client, tenantId: string, url: string): Promise<void> {
  const name = nameOfMove(tenantId);
  if (await exists(target, `SELECT FROM pg_subscription WHERE ${OWN}`, [name])) return;
  // The statement contains a password, which must not reach PostgreSQL's log. Only a superuser may turn off logging.
  await target.query(
    `SELECT set_config(name, value, false) FROM (VALUES ('log_min_error_statement', 'panic'), ('log_statement', 'none')) AS quiet (name, value)
     WHERE (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)`,
  );
  await target.query(
    `CREATE SUBSCRIPTION ${name} CONNECTION ${escapeLiteral(url)} PUBLICATION ${name}
     WITH (create_slot = false, slot_name = ${name}, disable_on_error = true)`,
  );
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

/** Removes the replication of a tenant from both databases, even if it was only partly set up. */
export async function unpublish(source: Client, target: Client, tenantId: string): Promise<void> {
  const name = nameOfMove(tenantId);
  const { rows } = await target.query<{ id: string }>(`SELECT oid::text AS id FROM pg_subscription WHERE ${OWN}`, [
    name,
  ]);
  const [subscription] = rows;
  if (subscription) {
    await target.query(`ALTER SUBSCRIPTION ${name} DISABLE`);
    // Detach the slot, which is dropped below: otherwise the drop would wait forever for an unreachable source.
    await target.query(`ALTER SUBSCRIPTION ${name} SET (slot_name = NONE)`);
    await target.query(`DROP SUBSCRIPTION ${name}`);
  }
  const slots = [name, `pg_${subscription?.id}_sync_%`];
  await source.query(
    `SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots WHERE slot_name LIKE ANY ($1) AND active`,
    [slots],
  );
  await source.query(
    `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE ANY ($1)`,
    [slots],
  );
  await source.query(`DROP PUBLICATION IF EXISTS ${name}`);
}
