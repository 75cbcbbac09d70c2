import { randomUUID } from 'node:crypto';
import { Prisma } from '../../../generated/prisma/client.js';
import { showEncounter } from '../../../src/domain/encounters/lookup.js';
import { findPatients, getPatient } from '../../../src/domain/patients/patients.js';
import type { LookupContext } from '../../../src/domain/transactions/transaction.js';
import type { Statements } from '../../../src/adapters/database/statements.js';
import { isoTime } from '../../../src/views/values.js';
import {
  encounterBody,
  newDocument,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
  patientBody,
  shipTo,
  type Partner,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { claim, completedEncounter, reviewBody } from '../../support/reviews.js';
import { isAudit, roundTripsOf, statementsOf } from '../../support/statements.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const sandbox = await newPartner(harness, 'sandbox');

/**
 * The number of statements of a request by a caller whose token is cached, without BEGIN, COMMIT, ROLLBACK and the
 * statement that writes the audit batch.
 */
async function statementsPerRequest(caller: Partner, target: string, json?: unknown): Promise<number> {
  const request = () => call(harness, target, { token: caller.token, ...(json === undefined ? {} : { json }) });
  await request();
  const answers: number[] = [];
  const statements = await statementsOf(async () => answers.push((await request()).status));
  expect(answers).toEqual([200]);
  expect(statements.filter(isAudit)).toHaveLength(1);
  return statements.filter((sent) => !isAudit(sent) && !['BEGIN', 'COMMIT', 'ROLLBACK'].includes(sent.text)).length;
}

/** A context with only the database and a caller. */
const lookup = (tenantId: string): LookupContext =>
  ({ db: harness.domain.db, caller: { tenantId, allowedClinicIds: null } }) as unknown as LookupContext;

it('getPatient, findPatients, getEncounter and getEncounterStatus send one SQL statement besides audit, BEGIN and COMMIT, and two in a sandbox', async () => {
  for (const [caller, count] of [
    [partner, 1],
    [sandbox, 2],
  ] as const) {
    const { encounter_id, gfe_no } = await newEncounter(harness, caller);
    const id = await newPatient(harness, caller, { email: 'jane@example.com' });
    expect({
      getPatient: await statementsPerRequest(caller, `GET /clients/${id}`),
      findPatients: await statementsPerRequest(caller, 'GET /clients?email=jane@example.com'),
      getEncounter: await statementsPerRequest(caller, `GET /encounters/${encounter_id}`),
      getEncounterStatus: await statementsPerRequest(caller, 'POST /encounters/status', { encounter_id, gfe_no }),
    }).toEqual({ getPatient: count, findPatients: count, getEncounter: count, getEncounterStatus: count });
  }
});

it.each([
  ['live', '', '', ''],
  // First the lock against a reset, which returns the clock; then the check for sandbox_full; last the bodies.
  ['sandbox', 'SELECT ', 'SELECT ', ' INSERT'],
] as const)(
  'createPatient and createEncounter in a %s tenant send a fixed sequence of SQL statements, none only for the audit',
  async (mode, lock, sizeCheck, keep) => {
    const writer = mode === 'live' ? partner : sandbox;
    const encounter = await encounterBody(harness, writer);
    const verbsOf = async (target: string, json: object, key?: string) => {
      const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key };
      const sent = await statementsOf(() => call(harness, target, { token: writer.token, json, headers }));
      return sent.map(({ text }) => text.trim().split(/\s/)[0]).join(' ');
    };
    await verbsOf('POST /clients', patientBody());
    // INSERT: the patient. WITH: its event and audit row.
    expect(await verbsOf('POST /clients', patientBody())).toBe(`BEGIN ${lock}${sizeCheck}INSERT WITH COMMIT${keep}`);
    // First SELECT: the records that the body names; second: the number of the encounter. WITH: the encounter with its
    // parts, event and audit row.
    expect(await verbsOf('POST /encounters', encounter)).toBe(
      `BEGIN ${lock}SELECT SELECT ${sizeCheck}WITH COMMIT${keep}`,
    );
    expect(await verbsOf('POST /encounters', encounter, 'k')).toBe(
      `BEGIN ${lock}INSERT SELECT SELECT ${sizeCheck}WITH COMMIT${keep}`,
    );
  },
);

it('createEncounter, submitReview of five items, recordPayment and recordFulfilment take 4, 5, 3 and 3 round trips in a sandbox', async () => {
  const treatmentIds = await Promise.all(Array.from({ length: 5 }, () => newProduct(harness, sandbox)));
  const body = { ...(await encounterBody(harness, sandbox)), treatmentIds, shipTo };
  const { token } = sandbox;
  const send = async (target: string, json: object, expected: number) => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const answers: Answer[] = [];
    const trips = await roundTripsOf(async () => answers.push(await call(harness, target, { token, json, headers })));
    expect(answers.map(({ status }) => status)).toEqual([expected]);
    return { trips, body: answers[0]?.body };
  };
  const tripsOfFlow = async (): Promise<number[]> => {
    // An earlier review, whose approvals the measured review ends.
    await completedEncounter(harness, sandbox, body);
    const created = await send('POST /encounters', body, 201);
    const path = `POST /encounters/${created.body.encounter_id}`;
    const claimed = await claim(harness, sandbox, created.body);
    const reviewed = await send(`${path}/review`, await reviewBody(harness, sandbox, claimed), 200);
    const order = `POST /orders/${reviewed.body.order_no}`;
    const paid = await send(`${order}/payments`, { amount: '1275.00' }, 201);
    const { pharmacyId } = paid.body.lines[0];
    const accepted = await send(`${order}/fulfilments`, { pharmacyId, status: 'accepted' }, 200);
    return [created, reviewed, paid, accepted].map(({ trips }) => trips);
  };
  // A late answer to one of two simultaneous reads can delay the next read by a trip, so the fewest of three runs count.
  const [first, ...others] = [await tripsOfFlow(), await tripsOfFlow(), await tripsOfFlow()];
  const fewest = first.map((trips, step) => Math.min(trips, ...others.map((run) => run[step] ?? NaN)));
  expect(fewest).toEqual([4, 5, 3, 3]);
});

/** Runs the work in this time zone: Node follows the variable immediately. */
async function inZone(zone: string, work: () => Promise<void>): Promise<void> {
  const before = process.env['TZ'];
  process.env['TZ'] = zone;
  try {
    await work();
  } finally {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  }
}

it.each(['UTC', 'America/New_York', 'Pacific/Kiritimati'])(
  'findPatients and getPatient return the patient as Prisma does, and showEncounter decimals and dates, on a machine in %s',
  (zone) =>
    inZone(zone, async () => {
      const { tenantId } = partner;
      const { db } = harness.domain;
      const { id: countryState } = await db.prisma.refState.findFirstOrThrow();
      const changes = { email: `same${zone.length}@example.com`, stateId: countryState, notes: 'x', gender: 'female' };
      const id = await newPatient(harness, partner, changes);
      const metadata = { a: [1, { b: 'ö' }] };
      const where = { tenantId, id };
      await db.prisma.patient.updateMany({ where, data: { metadata } });
      const patient = await db.prisma.patient.findFirstOrThrow({ where });
      expect([patient]).toMatchObject(await findPatients(lookup(tenantId), { email: changes.email.toUpperCase() }));
      const omit = { countryCode: true } as const;
      const state = await db.prisma.refState.findUniqueOrThrow({ where: { id: countryState }, omit });
      expect(await getPatient(lookup(tenantId), id)).toEqual({ ...patient, state });

      const documentIds = [await newDocument(harness, partner, id), await newDocument(harness, partner, id)];
      const { encounter_id } = await completedEncounter(harness, partner, { patientId: id, documentIds });
      const shown = await showEncounter(lookup(tenantId), encounter_id);
      expect(shown.subTotal).toBeInstanceOf(Prisma.Decimal);
      const gfeItems = [{ decidedAt: expect.any(Date) }];
      expect(shown).toMatchObject({ documents: [{}, {}], treatments: [{}], gfeItems });
    }),
);

it('the database access rejects a SQL statement that does not mention its tenant, inside and outside of a transaction', async () => {
  const { db } = harness.domain;
  const { tenantId } = partner;
  const wrong: [string, Prisma.Sql][] = [
    [tenantId, Prisma.sql`SELECT id FROM client`],
    [tenantId, Prisma.sql`SELECT id FROM client WHERE tenant_id = ${sandbox.tenantId}`],
    [tenantId, Prisma.sql`SELECT id FROM client WHERE tenant_id = ${undefined}`],
    ['', Prisma.sql`SELECT id FROM client WHERE tenant_id = ${''}`],
  ];
  for (const [tenant, sql] of wrong) {
    const inside = db.transaction(async (within) => ({ result: await within.of(tenant).rows(sql), last: null }));
    const refused = { reason: { message: expect.stringContaining('does not mention its tenant') } };
    expect(await Promise.allSettled([db.of(tenant).rows(sql), inside])).toMatchObject([refused, refused]);
  }
});

it('the database access rolls back a transaction whose work or last statement fails, and a savepoint whose work fails', async () => {
  const { db } = harness.domain;
  const { tenantId } = partner;
  const count = Prisma.sql`SELECT count(*) AS n FROM clinic WHERE tenant_id = ${tenantId}`;
  const insert = () => Prisma.sql`INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active,
    created_at, updated_at) VALUES (${harness.domain.newId()}::uuid, ${tenantId}, ${harness.domain.newId()}, 'x',
    'x@example.com', true, now(), now())`;
  const clinics = async (): Promise<number> => Number((await db.of(tenantId).rows<{ n: bigint }>(count))[0]?.n);
  const before = await clinics();
  const thrown = db.transaction(async (inside) => {
    await inside.of(tenantId).run(insert());
    expect(await inside.of(tenantId).rows(count)).toEqual([{ n: BigInt(before + 1) }]);
    throw new Error('given up');
  });
  await expect(thrown).rejects.toThrow('given up');
  const failed = db.transaction(async (inside) => {
    await inside.of(tenantId).run(insert());
    return { result: null, last: Prisma.sql`SELECT 1 / 0` };
  });
  await expect(failed).rejects.toThrow('division by zero');
  expect(await clinics()).toBe(before);
  await db.transaction(async (inside) => {
    await inside.of(tenantId).run(insert());
    const undone = inside.savepoint(async () => {
      await inside.of(tenantId).run(insert());
      await inside.everyTenant.run`SELECT 1 / 0`;
    });
    await expect(undone).rejects.toThrow('division by zero');
    return { result: null, last: null };
  });
  expect(await clinics()).toBe(before + 1);
});

it.each(['COMMIT', 'ROLLBACK'])(
  'the database access refuses a statement that a transaction sends after its %s',
  async (end) => {
    let kept: Statements = harness.domain.db.everyTenant;
    const ended = harness.domain.db.transaction(async ({ everyTenant }) => {
      kept = everyTenant;
      await everyTenant.run`SELECT 1`;
      if (end === 'ROLLBACK') throw new Error('given up');
      return { result: null, last: null };
    });
    await Promise.allSettled([ended]);
    await expect(kept.run`SELECT 1`).rejects.toThrow('after the end of its transaction');
  },
);

it("isoTime formats a time of PostgreSQL's JSON like Date.toISOString, with up to three decimals", async () => {
  const times = [
    '2026-11-22T16:00:00Z',
    '1970-01-01T00:00:00.5Z',
    '1904-02-29T23:59:59.05Z',
    '2099-12-31T23:59:59.999Z',
  ];
  const rows = await harness.domain.db.prisma.$queryRaw<{ time: string }[]>`
    SELECT to_json(time::timestamptz(3)) AS time FROM unnest(${times}::text[]) AS time`;
  expect(rows.map(({ time }) => isoTime(time))).toEqual(times.map((time) => new Date(time).toISOString()));
});
