import { Prisma } from '../../../generated/prisma/client.js';
import { wholeTenant } from '../../../src/cli/operator.js';
import { stopLines } from '../../../src/domain/orders/cancellation.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import {
  encounterBody,
  newCategory,
  newDocument,
  newPartner,
  newPatient,
  newProduct,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { inTurn } from '../../support/lockWaits.js';
import { pay } from '../../support/orders.js';
import { callerContext, insertDocumentRow } from '../../support/patientLives.js';
import {
  claimedEncounter,
  completedEncounter,
  deny,
  eventTypesOf,
  reviewBody,
  revoked,
  type Decide,
} from '../../support/reviews.js';
import { fulfil } from '../../support/shipments.js';

// Two changes wait for the lock of one row, and get it one after the other: each pair in both orders.

type Body = Answer['body'];
/** A change of the records, and its answer, if it is a request. */
type Change<Records> = (records: Records) => Promise<Answer | undefined>;

const harness = await openHarness();
const partner = await newPartner(harness);
const { token, tenantId } = partner;

const send = (target: `${'POST' | 'PATCH'} /${string}`, json: object, headers = {}): Promise<Answer> =>
  call(harness, target, { token, json, headers });
const withKey = () => ({ 'Idempotency-Key': harness.domain.newId() });
const ofPatient = ({ patientId }: { readonly patientId: string }): Prisma.Sql =>
  Prisma.sql`SELECT FROM client WHERE tenant_id = ${tenantId} AND id = ${patientId}::uuid FOR NO KEY UPDATE`;

/** The states of all lines of a patient, sorted. */
async function linesOf(patientId: string): Promise<string[]> {
  const { body } = await call(harness, `GET /orders?patientId=${patientId}`, { token });
  const states = body.data.flatMap(({ order_status, lines }: Body) =>
    lines.map(({ fulfilment, hold, recalledAt }: Body) =>
      [order_status, fulfilment.status, hold && `held ${hold.reason}`, recalledAt && 'recalled']
        .filter(Boolean)
        .join(' '),
    ),
  );
  return states.sort();
}

/**
 * Makes records, and lets two changes of them wait for a lock, by default that of the patient.
 * @returns for both orders: the answers, in the order of the parameters, and the patient's lines afterwards
 */
async function outcomesOf<Records extends { readonly patientId: string }>(
  make: () => Promise<Records>,
  changes: readonly [Change<Records>, Change<Records>],
  lock: (records: Records) => Prisma.Sql = ofPatient,
): Promise<string[]> {
  const outcomes: string[] = [];
  for (const isReversed of [false, true]) {
    const records = await make();
    const works = changes.map((change) => () => change(records));
    const answers = await inTurn(harness, lock(records), isReversed ? works.toReversed() : works);
    const told = answers.map((answer) => (answer === undefined || answer.status < 300 ? 'done' : answer.body.code));
    outcomes.push(
      [(isReversed ? told.toReversed() : told).join(', '), ...(await linesOf(records.patientId))].join(': '),
    );
  }
  return outcomes;
}

/** An accepted and paid order, a later encounter in review, and an unpaid order. */
async function newOrders() {
  const group = await newCategory(harness, partner);
  const [ordered, other] = [await newProduct(harness, partner, group), await newProduct(harness, partner, group)];
  const body = { ...(await encounterBody(harness, partner)), treatmentIds: [ordered] };
  const first = await completedEncounter(harness, partner, body);
  const paid = (await pay(harness, partner, first.order_no, { amount: '255.00' })).body;
  await fulfil(harness, partner, first.order_no, 'accepted');
  const treatmentIds = [await newProduct(harness, partner)];
  const unpaid = await completedEncounter(harness, partner, { ...body, treatmentIds });
  const later = await claimedEncounter(harness, partner, { ...body, treatmentIds: [ordered, other] });
  return { first, later, unpaid, payment: paid.payments[0], patientId: body.patientId };
}
type Orders = Awaited<ReturnType<typeof newOrders>>;

const report =
  (which: 'first' | 'unpaid', status: string): Change<Orders> =>
  async (orders) =>
    (await fulfil(harness, partner, orders[which].order_no, status))[0];
const ship = report('first', 'shipped');
const accept = report('unpaid', 'accepted');
const revoke: Change<Orders> = async ({ first }) => void (await revoked(harness, partner, first));
const reviewLater =
  (decide: (orders: Orders) => Decide): Change<Orders> =>
  async (orders) => {
    const { later } = orders;
    return send(
      `POST /encounters/${later.encounter_id}/review`,
      await reviewBody(harness, partner, later, decide(orders)),
    );
  };
const denial = reviewLater(() => deny);
const exception = reviewLater(({ first }) => () => ({ decision: 'approved', exceptTreatmentIds: first.treatmentIds }));
const refund =
  (amount: string): Change<Orders> =>
  ({ first, payment: { id } }) =>
    send(`POST /orders/${first.order_no}/refunds`, { payment_id: id, amount, reason: 'x' }, withKey());
const reorder: Change<Orders> = ({ first: { encounter_id, treatmentIds } }) =>
  send(`POST /encounters/${encounter_id}/reorder`, { treatmentIds }, withKey());
const payOff =
  (amount: string): Change<Orders> =>
  ({ unpaid }) =>
    pay(harness, partner, unpaid.order_no, { amount });
const cancel: Change<Orders> = ({ unpaid }) => send(`POST /orders/${unpaid.order_no}/cancel`, { reason: 'other' });
const stop: Change<Orders> = async ({ unpaid }) => {
  await inTransaction(harness.domain, (transaction) =>
    stopLines({ ...transaction, caller: wholeTenant(tenantId) }, unpaid.order_no, { clinicId: unpaid.clinicId }),
  );
  return undefined;
};

const ofOrder = (which: 'first' | 'unpaid') => (orders: Orders) =>
  Prisma.sql`SELECT FROM "order" WHERE tenant_id = ${tenantId} AND order_no = ${orders[which].order_no} FOR NO KEY UPDATE`;
const untouched = 'pending pending';
/** One of two changes is done, and the other is refused with this code, whichever is first. */
const onlyOne = (code: string, ...lines: readonly string[]) =>
  [`done, ${code}`, `${code}, done`].map((told) => [told, ...lines].join(': '));

it.each<[string, [Change<Orders>, Change<Orders>], (orders: Orders) => Prisma.Sql, string[]]>([
  [
    'no line is shipped after its approval is revoked, and a shipped line is recalled',
    [ship, revoke],
    ofPatient,
    [
      `done, done: paid shipped recalled: ${untouched}`,
      `approval_ended, done: paid accepted held revoked: ${untouched}`,
    ],
  ],
  [
    'no line is shipped after a later denial of its treatment',
    [ship, denial],
    ofPatient,
    [
      `done, chart_changed: paid shipped: ${untouched}`,
      `approval_ended, done: paid accepted held superseded: ${untouched}`,
    ],
  ],
  [
    'no line is shipped after a later review has excepted its treatment',
    [ship, exception],
    ofPatient,
    [
      `done, chart_changed: paid shipped: ${untouched}`,
      `approval_ended, done: paid accepted held superseded: ${untouched}: ${untouched}`,
    ],
  ],
  [
    'no line is shipped after a full refund',
    [ship, refund('255.00')],
    ofOrder('first'),
    [`done, done: ${untouched}: refunded shipped`, `invalid_state, done: ${untouched}: refunded accepted`],
  ],
  [
    'a reorder is refused after a revocation, and held by a later one',
    [reorder, revoke],
    ofPatient,
    [
      `done, done: paid accepted held revoked: ${untouched}: ${untouched} held revoked`,
      `approval_ended, done: paid accepted held revoked: ${untouched}`,
    ],
  ],
  [
    'no line is accepted after the operator has stopped it',
    [accept, stop],
    ofOrder('unpaid'),
    [
      'done, done: paid accepted: pending accepted held stopped',
      'approval_ended, done: paid accepted: pending pending held stopped',
    ],
  ],
  [
    'no order is both accepted and cancelled',
    [accept, cancel],
    ofOrder('unpaid'),
    ['done, invalid_state: paid accepted: pending accepted', 'invalid_state, done: cancelled cancelled: paid accepted'],
  ],
  [
    'payments do not exceed the total',
    [payOff('200.00'), payOff('100.00')],
    ofOrder('unpaid'),
    onlyOne('payment_exceeds_balance', 'paid accepted', untouched),
  ],
  [
    'refunds do not exceed their payment',
    [refund('200.00'), refund('100.00')],
    ofOrder('first'),
    onlyOne('refund_exceeds_payment', 'paid accepted', untouched),
  ],
  [
    'no order is both paid and cancelled',
    [payOff('255.00'), cancel],
    ofOrder('unpaid'),
    ['done, invalid_state: paid accepted: paid pending', 'invalid_state, done: cancelled cancelled: paid accepted'],
  ],
])('%s', async (_name, changes, lock, outcomes) => {
  expect(await outcomesOf(newOrders, changes, lock)).toEqual(outcomes);
});

/** A claimed encounter whose patient has an ID card. */
async function newReview(claiming = {}) {
  const patientId = await newPatient(harness, partner);
  const documentId = await newDocument(harness, partner, patientId, 'id-card');
  return { patientId, documentId, encounter: await claimedEncounter(harness, partner, { patientId }, claiming) };
}
type Review = Awaited<ReturnType<typeof newReview>>;

const review: Change<Review> = async ({ encounter }) =>
  send(`POST /encounters/${encounter.encounter_id}/review`, await reviewBody(harness, partner, encounter));
const withdraw: Change<Review> = ({ documentId }) =>
  send(`POST /documents/${documentId}/withdraw`, { reason: 'wrong_patient' });

it.each<[string, Change<Review>]>([
  [
    'a change to the medical history',
    ({ patientId }) => send(`PATCH /clients/${patientId}`, { medicalHistory: 'Pregnant' }),
  ],
  [
    'an upload of lab results',
    async ({ patientId }) => {
      await insertDocumentRow(await callerContext(harness, partner, () => new Date()), patientId, 'lab-results');
      return undefined;
    },
  ],
  ['a withdrawal of an ID card', withdraw],
])('submitReview refuses a review of a chart that %s has made outdated', async (_name, change) => {
  expect(await outcomesOf(newReview, [review, change])).toEqual([`done, done: ${untouched}`, 'chart_changed, done']);
});

it('createEncounter refuses a document whose withdrawal is committed first', async () => {
  const create: Change<Review> = async ({ patientId, documentId }) =>
    send('POST /encounters', { ...(await encounterBody(harness, partner)), patientId, documentIds: [documentId] });
  expect(await outcomesOf(newReview, [create, withdraw])).toEqual(['done, done', 'document_withdrawn, done']);
});

it('one of two racing submitReview requests succeeds and creates one order, and no encounter is both completed and cancelled', async () => {
  const made: Body[] = [];
  const make = async () => {
    const records = await newReview();
    made.push(records.encounter);
    return records;
  };
  expect(await outcomesOf(make, [review, review])).toEqual(onlyOne('invalid_state', untouched));
  const types = ['encounter.review_started', 'encounter.completed', 'order.created'];
  for (const encounter of made) expect(await eventTypesOf(harness, encounter)).toEqual(types);
  const end: Change<Review> = ({ encounter }) =>
    send(`POST /encounters/${encounter.encounter_id}/cancel`, { reason: 'patient_no_show' });
  const ended = [`done, invalid_state: ${untouched}`, 'invalid_state, done'];
  expect(await outcomesOf(newReview, [review, end])).toEqual(ended);
});

it('claimEncounter after a lapsed claim succeeds for one of two racing providers, and the lapsed claim is released once', async () => {
  const made: Body[] = [];
  const make = async () => {
    const records = await newReview({ leaseSeconds: 1 });
    harness.clock.advance(1);
    made.push(records.encounter);
    return records;
  };
  const claimBy =
    (reviewerRef: string): Change<Review> =>
    ({ encounter }) =>
      send(`POST /encounters/${encounter.encounter_id}/claim`, { reviewerRef });
  expect(await outcomesOf(make, [claimBy('NPI-1'), claimBy('NPI-2')])).toEqual(onlyOne('claimed_by_other'));
  const [started, released] = ['encounter.review_started', 'encounter.released'];
  for (const encounter of made) expect(await eventTypesOf(harness, encounter)).toEqual([started, released, started]);
});

it.each(['clients', 'encounters'])('PATCH /%s accepts one of two racing changes with one If-Match', async (records) => {
  const make = async () => {
    const { patientId, encounter } = await newReview();
    const path = records === 'clients' ? `/clients/${patientId}` : `/encounters/${encounter.encounter_id}`;
    const { headers } = await call(harness, `GET ${path}`, { token });
    return { patientId, path, tag: headers.get('ETag') };
  };
  const change = ({ path, tag }: Awaited<ReturnType<typeof make>>) =>
    call(harness, `PATCH ${path}`, { token, json: { metadata: { writer: 1 } }, headers: { 'If-Match': tag ?? '' } });
  expect(await outcomesOf(make, [change, change])).toEqual(onlyOne('version_conflict'));
});
