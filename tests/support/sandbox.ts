import { createSandbox, resetTables } from '../../src/domain/sandbox/reset.js';
import { newClient, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer, type Caller } from './http.js';

let count = 0;

/** A new sandbox tenant with its fixtures, and a client that holds every permission. */
export async function newSandbox(harness: Harness): Promise<Partner> {
  const { domain, services } = harness;
  const { id } = await createSandbox(domain, { name: `Sandbox ${(count += 1)}` }, services.objects);
  return newClient(harness, id);
}

/** POST /sandbox/reset */
export function reset(harness: Harness, { token }: Caller): Promise<Answer> {
  return call(harness, 'POST /sandbox/reset', { token });
}

/** Does the work while another reset of the tenant holds its lock. */
export function whileAnotherResets<T>({ domain }: Harness, tenantId: string, work: () => Promise<T>): Promise<T> {
  return domain.db.prisma.$transaction(
    async (db) => {
      await db.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`reset ${tenantId}`}, 0))`;
      return work();
    },
    { timeout: 20_000 },
  );
}

/** PUT /sandbox/clock */
export function setClock(harness: Harness, { token }: Caller, offsetSeconds: unknown): Promise<Answer> {
  return call(harness, 'PUT /sandbox/clock', { token, json: { offsetSeconds } });
}

/** POST /sandbox/encounters/{encounter_id}/simulate */
export function simulate(harness: Harness, { token }: Caller, encounterNo: unknown, json: unknown): Promise<Answer> {
  return call(harness, `POST /sandbox/encounters/${String(encounterNo)}/simulate`, { token, json });
}

/** Columns that are unique, or that a request may change as a side effect. */
const ownOf: Readonly<Record<string, readonly string[]>> = {
  event: ['id', 'position', 'recorded_at'],
  webhook_delivery: ['event_id'],
  api_client: ['last_used_at'],
  api_client_secret: ['last_used_at'],
};

/** A tenant's rows by table, for comparison, without providers, the audit and the log of requests. */
export async function thingsOf({ domain }: Harness, tenantId: string): Promise<Record<string, unknown[]>> {
  const logged = resetTables.filter((table) => table !== 'sandbox_exchange');
  const tables = [...logged, 'tenant', 'api_client', 'api_client_secret', 'webhook_endpoint'];
  const things = tables.map((table) => {
    const row = `to_jsonb(t) - '{${(ownOf[table] ?? []).join()}}'::text[]`;
    const column = table === 'tenant' ? 'id' : 'tenant_id';
    return `SELECT '${table}' AS table, (SELECT jsonb_agg(${row} ORDER BY ${row}) FROM "${table}" t WHERE ${column} = $1) AS rows`;
  });
  const { prisma } = domain.db;
  const sql = things.join(' UNION ALL ');
  const all = await prisma.$queryRawUnsafe<{ table: string; rows: unknown[] | null }[]>(sql, tenantId);
  return Object.fromEntries(all.map(({ table, rows }) => [table, rows ?? []]));
}

/** Fills a sandbox beyond its limit with 5,000 copies of a patient or encounter, bypassing the rules. */
export function fillSandbox({ domain }: Harness, tenantId: string, table: 'client' | 'encounter'): Promise<unknown> {
  return domain.db.prisma.$transaction(async (db) => {
    await db.$executeRaw`SET LOCAL session_replication_role = replica`;
    const columns = await db.$queryRaw<{ name: string }[]>`
      SELECT quote_ident(column_name) AS name FROM information_schema.columns
      WHERE table_schema = current_schema() AND table_name = ${table} AND is_generated = 'NEVER'`;
    const names = columns.map(({ name }) => name);
    const own: Readonly<Record<string, string>> = {
      id: 'gen_random_uuid()',
      encounter_no: '10000000 + n',
      email: `n || '@example.com'`,
    };
    await db.$executeRawUnsafe(
      `INSERT INTO ${table} (${names.join()}) SELECT ${names.map((name) => own[name] ?? `one.${name}`).join()}
        FROM generate_series(1, 5000) AS n, (SELECT * FROM ${table} WHERE tenant_id = $1 LIMIT 1) AS one`,
      tenantId,
    );
  });
}
