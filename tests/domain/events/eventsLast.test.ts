import { Prisma } from '../../../generated/prisma/client.js';
import { recordEvent } from '../../../src/domain/events/record.js';
import { wholeTenant } from '../../../src/cli/operator.js';
import { cancelOrder } from '../../../src/domain/orders/cancellation.js';
import { createSandbox } from '../../../src/domain/sandbox/reset.js';
import { forEachTenantClock } from '../../../src/domain/sweeps/tenantClocks.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { sweeps } from '../../../src/jobs/index.js';
import { resetCast, seedRestorableCast } from '../../support/cast.js';
import { eventSchemas, operations } from '../../support/contract.js';
import { feedPage, paid, recordEndpointEvents } from '../../support/events.js';
import { exampleRequests, type ExampleRequest } from '../../support/exampleRequests.js';
import { newEncounter, newPartner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { claimedEncounter, completedEncounter, deny, reviewed, revoked } from '../../support/reviews.js';
import { fulfil } from '../../support/shipments.js';
import { isAudit, statementsOf, transactionsOf, type Statement } from '../../support/statements.js';

const harness = await openHarness();
const partner = await seedRestorableCast(harness);

const { position: ofFixtures } = await harness.domain.db.prisma.eventCounter.findUniqueOrThrow({
  where: { tenantId: partner.tenantId },
});

/** Operations with another method than GET that change no record. */
const changeNothing = ['issueToken', 'getEncounterStatus', 'previewEncounter'];
/** The examples of the operations that change records; each example succeeds once after a reset. */
const changes = exampleRequests(
  operations.filter(({ method, operationId }) => method !== 'GET' && !changeNothing.includes(operationId)),
);

async function make({ title, send: sendIt }: ExampleRequest): Promise<void> {
  const { status } = await sendIt(harness, partner);
  if (status >= 300) throw new Error(`${title} answered ${status}: correct the example`);
}

const day = 24 * 3_600_000;

/** The types of the events that were written since the last reset. */
async function typesWritten(): Promise<string[]> {
  const rows = await harness.domain.db.prisma.$queryRaw<{ type: string }[]>`
    SELECT DISTINCT type::text FROM event WHERE tenant_id <> ${partner.tenantId} OR position > ${ofFixtures}`;
  return rows.map(({ type }) => type);
}

/** Writes events of every type by operations, jobs at several times and commands of the operator. @returns the types */
async function writeAllEvents(): Promise<Set<string>> {
  const written: string[] = [];
  const { domain, services } = harness;
  const { objects, log } = services;
  for (const change of changes) {
    await resetCast(harness, partner);
    await make(change);
    written.push(...(await typesWritten()));
  }
  const { order_no, clinicId, patientId, treatmentIds } = await completedEncounter(harness, partner);
  await reviewed(harness, partner, await newEncounter(harness, partner, { clinicId, patientId, treatmentIds }), deny);
  await inTransaction(domain, (transaction) =>
    cancelOrder({ ...transaction, caller: wholeTenant(partner.tenantId) }, order_no, null),
  );
  const sent = await completedEncounter(harness, partner);
  await fulfil(harness, partner, sent.order_no, 'accepted', 'shipped');
  await revoked(harness, partner, sent);
  await inTransaction(domain, (transaction) => recordEndpointEvents(transaction, partner));
  await claimedEncounter(harness, await newPartner(harness), {}, { visitUrl: 'https://visits.example.com/' });
  for (const days of [1, 360, 366]) {
    const now = () => new Date(harness.clock.now.getTime() + days * day);
    const { signal } = new AbortController();
    for (const { run } of sweeps) await run({ ...domain, objects, log, signal, now });
  }
  written.push(...(await typesWritten()));
  await createSandbox(domain, { name: 'Another sandbox' }, objects);
  return new Set(written);
}

it('every transaction commits immediately after the statement that writes its events', async () => {
  const isCounter = (text: string): boolean => text.includes('INTO event_counter');
  let written = new Set<string>();
  const transactions = await transactionsOf(async () => void (written = await writeAllEvents()));
  const ends = transactions
    .filter((texts) => texts.some(isCounter))
    .map((texts) => texts.slice(texts.findIndex(isCounter) + 1).join('; '));
  expect(ends.length).toBeGreaterThan(20);
  expect([...new Set(ends)]).toEqual(['COMMIT']);
  expect(Object.keys(eventSchemas).filter((type) => !written.has(type))).toEqual([]);
});

it('every operation that changes a record commits its audit row in the same transaction', async () => {
  const isChange = (text: string): boolean => /\b(INSERT INTO|UPDATE|DELETE FROM) /.test(text) && !isAudit({ text });
  const apart: string[] = [];
  for (const change of changes) {
    const { operationId } = change.operation;
    await resetCast(harness, partner);
    const sent = await statementsOf(() => make(change));
    const at = sent.findIndex(
      (statement) => statement.text.includes('"audit_event"') && recordsSuccess(statement, operationId),
    );
    const before = sent.slice(0, at).filter(({ connection }) => connection === sent[at]?.connection);
    const begun = before.slice(before.findLastIndex(({ text }) => text === 'BEGIN'));
    const isOpen = begun[0]?.text === 'BEGIN' && !begun.some(({ text }) => ['COMMIT', 'ROLLBACK'].includes(text));
    // The last changes of a transaction, its events and its audit row are one statement.
    const isWithChange = /\b(INSERT INTO|UPDATE|DELETE FROM) (?!"audit_event")/.test(sent[at]?.text ?? '');
    if (!isOpen || !(isWithChange || begun.some(({ text }) => isChange(text)))) apart.push(operationId);
  }
  expect(apart).toEqual([]);
});

const recordsSuccess = ({ values }: Statement, operationId: string): boolean =>
  values.some((value) => String(value).includes(`"${operationId}"`) && String(value).includes('"success"'));

it('a sweep rolls back the events of a failing row, and keeps those of other rows', async () => {
  const { domain } = harness;
  const partner = await newPartner(harness);
  const { tenantId, token } = partner;
  const orderNos = ['ORD-100001', 'ORD-100002', 'ORD-100003'];
  for (const _ of orderNos) await claimedEncounter(harness, partner);
  const left = new Set(orderNos);
  const sweep = forEachTenantClock({
    table: 'encounter',
    isDue: () => Prisma.sql`tenant_id = ${tenantId} AND version > 0`,
    order: Prisma.sql`encounter_no`,
    async workOff(context) {
      const [orderNo = ''] = left;
      left.delete(orderNo);
      recordEvent(context, { tenantId, clinicId: null }, 'order.paid', paid(orderNo));
      if (orderNo === 'ORD-100002') throw new Error('a damaged row');
    },
  });
  await sweep(domain);
  const { data } = await feedPage(harness, { token }, { types: 'order.paid' });
  expect(data.map((event) => event.data['order_no'])).toEqual(['ORD-100001', 'ORD-100003']);
});
