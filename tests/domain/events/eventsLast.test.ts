import { Prisma } from '../../../generated/prisma/client.js';
import { recordEvent } from '../../../src/domain/events/record.js';
import { wholeTenant } from '../../../src/cli/operator.js';
import { cancelOrder } from '../../../src/domain/orders/cancellation.js';
import { createSandbox } from '../../../src/domain/sandbox/reset.js';
import { forEachTenantClock } from '../../../src/domain/sweeps/tenantClocks.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { sweeps } from '../../../src/jobs/index.js';
import { eventSchemas, operations } from '../../support/contract.js';
import { feedPage, paid, recordEndpointEvents } from '../../support/events.js';
import { newEncounter, newPartner, newPatient, shipTo } from '../../support/factories.js';
import { openHarnessWithHost } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { keyedRequests } from '../../support/keyedRequests.js';
import { getOrder } from '../../support/orders.js';
import { claimedEncounter, completedEncounter, deny, reviewed, reviewer } from '../../support/reviews.js';
import { reset, setClock, simulate } from '../../support/sandbox.js';
import { fulfil, putShipTo } from '../../support/shipments.js';
import { newWebhooks } from '../../support/webhooks.js';
import { isAudit, statementsOf, transactionsOf, type Statement } from '../../support/statements.js';

const { harness, host: fileHost } = await openHarnessWithHost();
const partner = await newPartner(harness, 'sandbox');

/** Operations with another method than GET that change no record. */
const changeNothing = ['issueToken', 'getEncounterStatus', 'previewEncounter'];
/** Operation, method, path below the endpoint, and body. */
const webhookChanges: readonly (readonly [string, string, string, object?])[] = [
  ['updateWebhookEndpoint', 'PATCH', '', { description: 'All' }],
  ['rotateWebhookSecret', 'POST', '/rotate-secret'],
  ['pingWebhookEndpoint', 'POST', '/ping'],
  ['replayWebhookEvents', 'POST', '/replay', { after: '2026-01-01T00:00:00Z' }],
  ['retryWebhookDelivery', 'POST', '/deliveries/{}/retry'],
  ['deleteWebhookEndpoint', 'DELETE', ''],
];
const send = (target: string, json: object): Promise<Answer> => call(harness, target, { token: partner.token, json });
/** The changing operations without an idempotency key. */
const keyless: Readonly<Record<string, () => Promise<{ readonly status: number }>>> = {
  async releaseEncounter() {
    const { encounter_id } = await claimedEncounter(harness, partner);
    return send(`POST /encounters/${encounter_id}/release`, { reviewerRef: reviewer });
  },
  async simulateEncounter() {
    const { encounter_id } = await newEncounter(harness, partner);
    return simulate(harness, partner, encounter_id, { outcome: 'approve_all', pay: true });
  },
  updatePatient: async () =>
    send(`PATCH /clients/${await newPatient(harness, partner)}`, { notes: 'Prefers mornings.' }),
  simulateVerification: async () =>
    send(`POST /sandbox/clients/${await newPatient(harness, partner)}/verification`, { status: 'VERIFIED' }),
  async cancelOrder() {
    const { order_no } = await completedEncounter(harness, partner);
    return send(`POST /orders/${order_no}/cancel`, { reason: 'The patient changed their mind.' });
  },
  async recordFulfilment() {
    const { order_no } = await completedEncounter(harness, partner);
    const [{ pharmacyId }] = (await getOrder(harness, partner, order_no)).body.lines;
    return send(`POST /orders/${order_no}/fulfilments`, { pharmacyId, status: 'accepted' });
  },
  async setShipTo() {
    const { order_no } = await completedEncounter(harness, partner);
    return putShipTo(harness, partner, order_no, { ...shipTo, address1: '1 Main Street' });
  },
  setClock: () => setClock(harness, partner, 100),
  setWebhookInboxBehavior: () => send('PUT /sandbox/webhook-inbox/behavior', { status: 500, delayMs: 0 }),
  ...Object.fromEntries(
    webhookChanges.map(([operationId, method, path, json]) => [operationId, () => ofNewWebhook(method, path, json)]),
  ),
  resetSandbox: async () => reset(harness, await newPartner(harness, 'sandbox')),
};

/** Sends a request about a new endpoint with deliveries, of a new tenant with few events. */
async function ofNewWebhook(method: string, path: string, json?: object): Promise<{ readonly status: number }> {
  const owner = await newPartner(harness);
  await newPatient(harness, owner);
  const { endpoint_id, delivery_id } = await newWebhooks(harness, owner);
  const target = `${method} /webhook-endpoints/${endpoint_id}${path.replace('{}', delivery_id)}`;
  return call(harness, target, { token: owner.token, ...(json && { json }) });
}

function requireSuccess(operationId: string, { status }: { readonly status: number }): void {
  if (status >= 300) throw new Error(`${operationId}: ${status}`);
}

const day = 24 * 3_600_000;

/** Every changing operation, with a request that succeeds; each call needs another key. */
function changes(key: string): [operationId: string, run: () => Promise<{ readonly status: number }>][] {
  const keyed = Object.entries(keyedRequests).map(([operationId, make]) => {
    const run = async () => {
      const { right } = await make({ harness, fileHost, partner });
      const headers = { 'Idempotency-Key': `${operationId} ${key}` };
      return call(harness, right.target, { token: partner.token, json: right.json, headers });
    };
    return [operationId, run] satisfies [string, unknown];
  });
  return [...Object.entries(keyless), ...keyed];
}

/** Runs all writers of events: the operations, the jobs at several times, the operator's commands. */
async function writeAllEvents(): Promise<void> {
  const { domain, services } = harness;
  const { objects, config, log } = services;
  for (const [operationId, run] of changes('written')) requireSuccess(operationId, await run());
  const { order_no, clinicId, patientId, treatmentIds } = await completedEncounter(harness, partner);
  await reviewed(harness, partner, await newEncounter(harness, partner, { clinicId, patientId, treatmentIds }), deny);
  await inTransaction(domain, (transaction) =>
    cancelOrder({ ...transaction, caller: wholeTenant(partner.tenantId) }, order_no, null),
  );
  const sent = await completedEncounter(harness, partner);
  await fulfil(harness, partner, sent.order_no, 'accepted', 'shipped');
  const items = sent.gfe_data.map(({ categoryId, subcategoryId }: Answer['body']) => ({ categoryId, subcategoryId }));
  await send(`POST /encounters/${sent.encounter_id}/revoke`, { reviewerRef: reviewer, items, reason: 'Lab result.' });
  await inTransaction(domain, (transaction) => recordEndpointEvents(transaction, partner));
  await claimedEncounter(harness, await newPartner(harness), {}, { visitUrl: 'https://visits.example.com/' });
  for (const days of [1, 360, 366]) {
    const now = () => new Date(harness.clock.now.getTime() + days * day);
    const { signal } = new AbortController();
    for (const { run } of sweeps) await run({ ...domain, objects, config, log, signal, now });
  }
  await createSandbox(domain, { name: 'Another sandbox' }, objects);
}

it('the tests of commit order cover every operation that changes a record', () => {
  const changing = operations.filter(({ method }) => method !== 'GET').map(({ operationId }) => operationId);
  expect(changing.sort()).toEqual([...Object.keys({ ...keyedRequests, ...keyless }), ...changeNothing].sort());
});

it('every transaction commits immediately after the statement that writes its events', async () => {
  const isCounter = (text: string): boolean => text.includes('INTO event_counter');
  const written = new Set<string>();
  const transactions = await transactionsOf(async () => {
    await writeAllEvents();
    const rows = await harness.domain.db.prisma.$queryRaw<{ type: string }[]>`SELECT DISTINCT type::text FROM event`;
    for (const { type } of rows) written.add(type);
  });
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
  for (const [operationId, run] of changes('recorded')) {
    const sent = await statementsOf(async () => requireSuccess(operationId, await run()));
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
