import { hashClientSecret } from '../../src/domain/access/apiClientSecrets.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { createSandbox } from '../../src/domain/sandbox/reset.js';
import { exampleBody, operationOf } from './contract.js';
import { missingFile, newToken, patientColumns, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Caller } from './http.js';

/** The records that the examples of the contract show, with their ids. */
export const cast = {
  tenantId: 'northwind',
  apiClientId: '01a05c32-5e80-7000-8000-00000000ac01',
  requestId: '01a1f9b8-cbc0-7000-8000-00000000f00d',
  clinics: {
    austin: '01a05c32-5e80-7000-8000-00000000c101',
    phoenix: '01a05c32-5e80-7000-8000-00000000c102',
    /** Inactive. */
    denver: '01a05c32-5e80-7000-8000-00000000c103',
  },
  products: {
    botox: '01a05c32-5e80-7000-8000-00000000b201',
    semaglutide: '01a05c32-5e80-7000-8000-00000000b202',
    /** Inactive. */
    vitaminB12: '01a05c32-5e80-7000-8000-00000000b203',
    /** Available only in Phoenix. */
    laser: '01a05c32-5e80-7000-8000-00000000b204',
    /** Every review of the fixtures declines it. */
    tirzepatide: '01a05c32-5e80-7000-8000-00000000b207',
    glutathione: '01a05c32-5e80-7000-8000-00000000b210',
  },
  jane: { id: '01a10caf-a4c0-7000-8000-00000000d001', email: 'jane.miller@example.com' },
  /** Not verified. */
  noah: { id: '01a10caf-a4c0-7000-8000-00000000d003', email: 'noah.reed@example.com' },
  /** The new patient of the examples; the fixtures lack her. */
  maria: { id: '01a1f9af-a400-7000-8000-00000000d002', email: 'maria.lopez@example.com' },
  documents: {
    janeIntake: '01a1f9b4-37e0-7000-8000-00000000d0c1',
    mariaIdCard: '01a1f9b4-37e0-7000-8000-00000000d0c2',
  },
  encounters: {
    /** Waits for a live visit on 2026-12-01. */
    scheduled: { encounter_id: 100_123, gfe_no: 'GFE-100123' },
    /** Waits for a chart review. */
    waiting: { encounter_id: 100_124, gfe_no: 'GFE-100124' },
    /** Under review by {@link cast.reviewerRef}. */
    claimed: { encounter_id: 100_125, gfe_no: 'GFE-100125' },
    /** Waits for information. */
    asked: { encounter_id: 100_127, gfe_no: 'GFE-100127' },
    /** Its order is not paid. */
    completed: { encounter_id: 100_126, gfe_no: 'GFE-100126', order_no: 'ORD-100045' },
    /** Its order is paid. */
    paid: { encounter_id: 100_131, gfe_no: 'GFE-100131', order_no: 'ORD-100051' },
    /** One line of its order is held, the other is paid; the order lacks a treatment that the review declined. */
    held: { encounter_id: 100_132, gfe_no: 'GFE-100132', order_no: 'ORD-100052' },
    /** No facts have changed since its review, so that it can be reordered. */
    unchanged: { encounter_id: 100_133, gfe_no: 'GFE-100133', order_no: 'ORD-100053' },
  },
  /** Receives no events. */
  webhook: '01a1f9b8-cbc0-7000-8000-00000000ab01',
  reviewerRef: '1234567893',
  absent: '01a05c32-5e80-7fff-bfff-ffffffffffff',
} as const;

/** When the examples are sent. */
export const castTime = new Date('2026-11-20T16:10:00.000Z');

const { tenantId } = cast;

/**
 * Creates the sandbox of the examples with its fixtures and sets the clock to their time. The returned API client has
 * the credentials of the examples and every permission.
 */
export async function seedCast(harness: Harness): Promise<Partner> {
  harness.clock.now = castTime;
  const { domain, services } = harness;
  await createSandbox(domain, { id: tenantId, name: 'Northwind Aesthetics' }, services.objects);
  const login = exampleBody(operationOf('issueToken'), 'client_credentials');
  const [clientId, clientSecret] = [String(login['client_id']), String(login['client_secret'])];
  const times = { createdAt: domain.now(), updatedAt: domain.now() };
  const client = { id: cast.apiClientId, tenantId, clientId, name: 'Partner', permissions: [...permissions] };
  const hint = clientSecret.slice(-4);
  const secret = { id: domain.newId(), secretHash: hashClientSecret(clientSecret), hint, createdAt: domain.now() };
  await domain.db.prisma.apiClient.create({ data: { ...client, ...times, secrets: { create: secret } } });
  return { tenantId, clientId, clientSecret, token: await newToken(harness, { clientId, clientSecret }) };
}

/** {@link seedCast}, with copies of its rows for {@link resetCast}. */
export async function seedRestorableCast(harness: Harness): Promise<Partner> {
  const partner = await seedCast(harness);
  await copyCast(harness);
  return partner;
}

/** Restores the rows of the cast from copies, in a fraction of the time that a reset takes. */
export async function resetCast({ baseUrl, clock, domain: { db } }: Harness, { token }: Caller): Promise<void> {
  clock.now = castTime;
  const { clockOffsetMs } = await db.prisma.tenant.findUniqueOrThrow({ where: { id: tenantId } });
  await db.prisma.$transaction([
    db.prisma.$executeRaw`SET LOCAL session_replication_role = replica`,
    db.prisma.$executeRaw`SELECT restore_cast()`,
  ]);
  // The service remembers an offset until the clock is set.
  if (clockOffsetMs > 0) await call({ baseUrl }, 'PUT /sandbox/clock', { token, json: { offsetSeconds: 0 } });
}

/** Tables that {@link resetCast} does not restore: those of API clients, of the audit and of requests. */
const KEPT = ['api_client', 'api_client_secret', 'audit_event', 'audit_seal', 'audit_counter', 'sandbox_exchange'];

/** Copies the tenant's rows of all other tables, and makes the function that restores them. */
async function copyCast({ domain: { db } }: Harness): Promise<void> {
  const columns = await db.prisma.$queryRaw<{ table: string; names: string; key: string }[]>`
    SELECT quote_ident(c.table_name) AS table, string_agg(quote_ident(c.column_name), ',') AS names,
      CASE c.table_name WHEN 'tenant' THEN 'id' ELSE 'tenant_id' END AS key
    FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name)
    WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
      AND c.table_name <> ALL(${KEPT})
      AND EXISTS (SELECT FROM information_schema.columns AS own WHERE own.table_schema = c.table_schema
        AND own.table_name = c.table_name AND (own.column_name = 'tenant_id' OR c.table_name = 'tenant'))
    GROUP BY c.table_name`;
  await db.prisma.$executeRaw`CREATE SCHEMA copied`;
  const restore = [];
  for (const { table, names, key } of columns) {
    const from = `WHERE ${key} = '${tenantId}'`;
    await db.prisma.$executeRawUnsafe(`CREATE TABLE copied.${table} AS SELECT ${names} FROM ${table} ${from}`);
    restore.push(`DELETE FROM ${table} ${from}; INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE
      SELECT ${names} FROM copied.${table};`);
  }
  await db.prisma.$executeRawUnsafe(`CREATE FUNCTION restore_cast() RETURNS void LANGUAGE plpgsql
    AS $$ BEGIN ${restore.join('\n')} END $$`);
}

/** Moves the cases that only read to the front: they can share a reset, which costs more than most requests. */
export function readsFirst<T>(cases: readonly T[], onlyReads: (one: T) => boolean): T[] {
  return [...cases.filter(onlyReads), ...cases.filter((value) => !onlyReads(value))];
}

/** Adds María and her document. */
export async function addMaria({ domain: { db } }: Harness): Promise<void> {
  const times = { createdAt: castTime, updatedAt: castTime };
  await db.prisma.patient.createMany({
    data: { ...patientColumns, ...cast.maria, tenantId, firstName: 'María', lastName: 'López', ...times },
  });
  await db.prisma.document.createMany({
    data: {
      id: cast.documents.mariaIdCard,
      tenantId,
      patientId: cast.maria.id,
      docType: 'id-card',
      ...missingFile,
      uploadedById: cast.apiClientId,
      ...times,
    },
  });
}

/** Moves the clock to the scheduled visit and claims it. */
export async function claimTheVisit(harness: Harness, { token }: { readonly token: string }): Promise<void> {
  const offsetSeconds = (Date.parse('2026-12-01T20:30:00Z') - castTime.getTime()) / 1000;
  await call(harness, 'PUT /sandbox/clock', { token, json: { offsetSeconds } });
  const target = `POST /encounters/${cast.encounters.scheduled.encounter_id}/claim`;
  const visitUrl = 'https://visits.northwind.example/100123';
  await call(harness, target, { token, json: { reviewerRef: cast.reviewerRef, visitUrl } });
}

/** Revokes the approvals of `completed`, `paid` and `unchanged`. */
export async function revokeOrders(harness: Harness, { token }: { readonly token: string }): Promise<void> {
  for (const { encounter_id } of [cast.encounters.completed, cast.encounters.paid, cast.encounters.unchanged]) {
    const target = `POST /sandbox/encounters/${encounter_id}/simulate`;
    await call(harness, target, { token, json: { outcome: 'revoke' } });
  }
}
