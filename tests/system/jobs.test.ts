import { purgeEvents } from '../../src/domain/sweeps/purges.js';
import { sweeps } from '../../src/jobs/index.js';
import { recordPaid } from '../support/events.js';
import {
  newCategory,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
  patientBody,
  type Partner,
} from '../support/factories.js';
import { startHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { createTestDatabase } from '../support/postgres.js';
import { claimedEncounter, completedEncounter } from '../support/reviews.js';

/** Processes that start the same run at once, as happens when a slow one is taken for dead. */
const PROCESSES = 3;

// The role of `serviceUrl` has only the rights that a migration grants to the service.
const database = await createTestDatabase();
const harness = await startHarness({ databaseUrl: database.serviceUrl });
afterAll(async () => {
  await harness.close();
  await database.drop();
});

type Rows = Readonly<Record<string, number>>;

/** Counts the rows that all processes handle together at a moment of tenant time, and those of a further run. */
type Run = (moment?: Date) => Promise<{ together: number; again: number }>;

async function runAtOnce(name: string, moment = harness.clock.now): ReturnType<Run> {
  const job = sweeps.find((each) => each.name === name);
  const { objects, config, log } = harness.services;
  const { signal } = new AbortController();
  const context = { ...harness.domain, objects, config, log, signal, now: () => new Date(moment) };
  const run = async (): Promise<number> => Number(await job?.run(context));
  const counts = await Promise.all(Array.from({ length: PROCESSES }, run));
  return { together: counts.reduce((sum, count) => sum + count, 0), again: await run() };
}

/** Counts a tenant's events by type. */
async function eventsOf({ tenantId }: Partner): Promise<Rows> {
  const rows = await harness.domain.db.prisma.$queryRaw<{ type: string; count: number }[]>`
    SELECT type::text, count(*)::int FROM event WHERE tenant_id = ${tenantId} GROUP BY type`;
  return Object.fromEntries(rows.map(({ type, count }) => [type, count]));
}

/** Counts a tenant's encounters by status. */
async function statesOf({ tenantId }: Partner): Promise<Rows> {
  const rows = await harness.domain.db.prisma.encounter.groupBy({ by: ['status'], where: { tenantId }, _count: true });
  return Object.fromEntries(rows.map(({ status, _count }) => [status, _count]));
}

const threeTimes = async (make: () => Promise<Answer['body']>): Promise<Answer['body'][]> => [
  await make(),
  await make(),
  await make(),
];
const after = (time: string, milliseconds: number): Date => new Date(Date.parse(time) + milliseconds);

/** Two approvals of a partner that end at the same time. */
async function twoApprovals(): Promise<{ partner: Partner; validUntil: string }> {
  const partner = await newPartner(harness);
  const groups = [await newCategory(harness, partner), await newCategory(harness, partner)];
  const treatmentIds = await Promise.all(groups.map((group) => newProduct(harness, partner, group)));
  const encounter = await completedEncounter(harness, partner, { treatmentIds });
  return { partner, validUntil: encounter.gfe_data[0].validUntil };
}

/** The guarantee of each job, by its name. */
const cases: Readonly<Record<string, { readonly guarantee: string; check(run: Run): Promise<void> }>> = {
  'lapse-due-claims': {
    guarantee: 'releases each lapsed claim once, with one event',
    async check(run) {
      const partner = await newPartner(harness);
      const [encounter] = await threeTimes(() => claimedEncounter(harness, partner));
      const { leaseExpiresAt } = encounter;
      expect(await run(after(leaseExpiresAt, -1))).toEqual({ together: 0, again: 0 });
      expect(await run(after(leaseExpiresAt, 0))).toEqual({ together: 3, again: 0 });
      expect(await statesOf(partner)).toEqual({ pending_review: 3 });
      expect(await eventsOf(partner)).toMatchObject({ 'encounter.review_started': 3, 'encounter.released': 3 });
    },
  },
  'expire-due-encounters': {
    guarantee: 'expires each encounter that waited too long, with one event',
    async check(run) {
      const partner = await newPartner(harness);
      const [encounter] = await threeTimes(() => newEncounter(harness, partner));
      // Encounters of earlier tests are due as well.
      await run(after(encounter.expiresAt, -1));
      expect(await statesOf(partner)).toEqual({ pending_review: 3 });
      expect((await run(after(encounter.expiresAt, 0))).again).toBe(0);
      expect(await statesOf(partner)).toEqual({ expired: 3 });
      expect(await eventsOf(partner)).toMatchObject({ 'encounter.created': 3, 'encounter.expired': 3 });
    },
  },
  'announce-expiring-approvals': {
    guarantee: 'announces each approval once before it expires',
    async check(run) {
      const { partner, validUntil } = await twoApprovals();
      expect(await run(after(validUntil, -1))).toEqual({ together: 2, again: 0 });
      expect(await eventsOf(partner)).toMatchObject({ 'gfe.expiring': 2 });
    },
  },
  'announce-expired-approvals': {
    guarantee: 'announces each expired approval once',
    async check(run) {
      const { partner, validUntil } = await twoApprovals();
      // Approvals of the previous test have expired as well.
      expect((await run(after(validUntil, 0))).again).toBe(0);
      expect(await eventsOf(partner)).toMatchObject({ 'gfe.expired': 2 });
    },
  },
  'hold-expired-lines': {
    guarantee: 'holds the lines of an expired approval once, with one event',
    async check(run) {
      const partner = await newPartner(harness);
      const treatmentIds = [await newProduct(harness, partner, { isRx: true })];
      const { gfe_data } = await completedEncounter(harness, partner, { treatmentIds });
      // Lines of earlier tests are due as well.
      await run(after(gfe_data[0].validUntil, -1));
      expect(await eventsOf(partner)).not.toHaveProperty(['order.held']);
      expect((await run(after(gfe_data[0].validUntil, 0))).again).toBe(0);
      expect(await eventsOf(partner)).toMatchObject({ 'order.held': 1 });
    },
  },
  'purge-idempotency-keys': {
    guarantee: 'removes idempotency keys after 24 hours of real time, and keeps younger ones',
    async check(run) {
      const { db } = harness.domain;
      const partner = await newPartner(harness, 'sandbox');
      const { tenantId, token } = partner;
      for (const key of ['old', 'young']) {
        await call(harness, 'POST /clients', { token, json: patientBody(), headers: { 'Idempotency-Key': key } });
      }
      const age = (key: string, time: string) => db.prisma.$executeRaw`
        UPDATE idempotency_key SET created_at = now() - ${time}::text::interval
        WHERE tenant_id = ${tenantId} AND key = ${key}`;
      await age('old', '24 hours 1 second');
      await age('young', '23 hours 59 minutes');
      await db.prisma.$executeRaw`
        INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint, created_at)
        SELECT tenant_id, api_client_id, operation_id, n, fingerprint, created_at
          FROM idempotency_key, generate_series(1, 2500) AS n WHERE tenant_id = ${tenantId} AND key = 'old'`;
      await db.prisma.tenant.updateMany({ where: { id: tenantId }, data: { clockOffsetMs: 48 * 3600_000 } });
      expect(await run()).toEqual({ together: 2501, again: 0 });
      expect(await db.prisma.idempotencyKey.findMany({ where: { tenantId } })).toMatchObject([{ key: 'young' }]);
    },
  },
  'purge-exchanges': {
    guarantee: 'removes the bodies of requests after an hour of real time, and keeps younger ones',
    async check(run) {
      const { db } = harness.domain;
      // Rows of earlier tests are due as well.
      await db.prisma.$executeRaw`DELETE FROM sandbox_exchange`;
      const partner = await newPartner(harness, 'sandbox');
      await call(harness, 'GET /clinics', partner);
      await call(harness, 'GET /tenants/products', partner);
      const { tenantId } = partner;
      await db.prisma.$executeRaw`
        UPDATE sandbox_exchange SET at = now() - CASE operation_id
          WHEN 'listClinics' THEN interval '1 hour 1 second' ELSE interval '59 minutes' END
        WHERE tenant_id = ${tenantId}`;
      await db.prisma.$executeRaw`
        INSERT INTO sandbox_exchange (tenant_id, request_id, at, client_id, operation_id, target, status)
        SELECT tenant_id, gen_random_uuid(), at, client_id, operation_id, target, status
          FROM sandbox_exchange, generate_series(1, 2500) WHERE tenant_id = ${tenantId} AND operation_id = 'listClinics'`;
      expect(await run()).toEqual({ together: 2501, again: 0 });
      expect(await db.prisma.sandboxExchange.findMany({ where: { tenantId } })).toMatchObject([
        { operationId: 'listProducts' },
      ]);
    },
  },
  'purge-events': {
    guarantee: 'removes events of every tenant after 30 days of real time',
    async check(run) {
      const [one, other] = [await newPartner(harness), await newPartner(harness)];
      for (const partner of [one, other]) await writeOld(partner, 2_500);
      await newPatient(harness, one);
      expect(await run()).toEqual({ together: 5_000, again: 0 });
      expect([await eventsOf(one), await eventsOf(other)]).toEqual([{ 'patient.created': 1 }, {}]);
    },
  },
};

describe('when several processes run a job at once, and again,', () => {
  const rows = Object.entries(cases).map(([name, { guarantee, check }]) => ({ name, guarantee, check }));
  it.each(rows)('$name $guarantee', ({ name, check }) => check((moment) => runAtOnce(name, moment)));

  it('every sweep is checked by these tests', () => {
    expect(Object.keys(cases).sort()).toEqual(sweeps.map(({ name }) => name).sort());
  });
});

describe('the purge of events', () => {
  it('stops at the first event that is young enough to be kept, so that the feed has no gap', async () => {
    const partner = await newPartner(harness);
    await writeOld(partner, 1);
    await newPatient(harness, partner);
    await writeOld(partner, 2);
    expect(await purgeEvents(harness.domain)).toBe(1);
    expect(await eventsOf(partner)).toEqual({ 'patient.created': 1, 'order.paid': 2 });
  });

  it('deletes no events if the process is already shutting down', async () => {
    const partner = await newPartner(harness);
    await writeOld(partner, 1);
    await expect(purgeEvents({ ...harness.domain, signal: AbortSignal.abort() })).rejects.toThrow();
    expect(await eventsOf(partner)).toEqual({ 'order.paid': 1 });
  });
});

it.each([
  ['purge-events', 'event'],
  ['purge-idempotency-keys', 'idempotency_key'],
])('%s continues with other tenants when it cannot delete a row of one tenant', async (name, table) => {
  const { db } = harness.domain;
  // Removes the rows that other tests left.
  await runAtOnce(name);
  const [a, b] = [await newPartner(harness), await newPartner(harness)];
  // A purge visits tenants in the order of their ids: the failing one comes first.
  const [one, other] = a.tenantId < b.tenantId ? [a, b] : [b, a];
  for (const partner of [one, other]) {
    await writeOld(partner, 1);
    await db.prisma.$executeRaw`
      INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint, created_at)
      SELECT tenant_id, id, 'createPatient', 'old', sha256(''), now() - interval '25 hours'
      FROM api_client WHERE tenant_id = ${partner.tenantId}`;
  }
  const sql = `CREATE FUNCTION refuse_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'Jane Miller' USING ERRCODE = 'XX001'; END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON ${table} FOR EACH ROW
      WHEN (OLD.tenant_id = '${one.tenantId}') EXECUTE FUNCTION refuse_${table}()`;
  await rowsOf(database.url, sql);
  const logged = harness.logged.length;
  expect((await runAtOnce(name)).together).toBe(1);
  await rowsOf(database.url, `DROP TRIGGER refuse ON ${table}`);
  const lines = harness.logged
    .slice(logged)
    .filter(({ msg }) => msg === 'a job failed for this tenantId; its next run retries');
  expect(lines[0]).toMatchObject({ job: name, tenantId: one.tenantId, sqlstate: 'XX001' });
  expect(JSON.stringify(lines)).not.toContain('Jane');
  expect(await runAtOnce(name)).toEqual({ together: 1, again: 0 });
});

/** Records events that are older than 30 days. */
async function writeOld({ tenantId }: Partner, count: number): Promise<void> {
  await recordPaid(harness, { tenantId, clinicId: null }, undefined, count);
  await harness.domain.db.prisma.$executeRaw`
    UPDATE event SET recorded_at = now() - interval '30 days 1 second'
    WHERE tenant_id = ${tenantId} AND type = 'order.paid'`;
}
