import { wholeTenant } from '../../../src/cli/operator.js';
import { stopLines } from '../../../src/domain/orders/cancellation.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { copyTenant } from '../../support/copies.js';
import { encounterBody, newCategory, newClient, newPartner, newProduct, shipTo } from '../../support/factories.js';
import { call, type Answer } from '../../support/http.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { pay } from '../../support/orders.js';
import { claimedEncounter, completedEncounter, deny, reviewBody, reviewer } from '../../support/reviews.js';

// Two changes of an order race. Events are in the order of commits, so they show which of the two came first.

/** Races of each kind; `RACES=200` runs more. */
const races = Number(process.env['RACES'] ?? 16);
/** Races at a time. */
const lanes = 2;

type Body = Answer['body'];
type Send = (target: string, json: object, key?: string) => Promise<Answer>;

const { harness, observer } = await openObservedHarness();
const { prisma } = harness.domain.db;
const partner = await newPartner(harness);
/** A tenant with an accepted and paid order, a later encounter in review, and an unpaid order; each race has a copy. */
const template = await makeTemplate();

async function makeTemplate() {
  const { token, tenantId } = partner;
  const group = await newCategory(harness, partner);
  const [ordered, other] = [await newProduct(harness, partner, group), await newProduct(harness, partner, group)];
  const body = { ...(await encounterBody(harness, partner)), treatmentIds: [ordered], shipTo };
  const first = await completedEncounter(harness, partner, body);
  const paid = (await pay(harness, partner, first.order_no, { amount: '255.00' })).body;
  const accepted = { pharmacyId: paid.lines[0].pharmacyId, status: 'accepted' };
  await call(harness, `POST /orders/${first.order_no}/fulfilments`, { token, json: accepted });
  const treatmentIds = [await newProduct(harness, partner)];
  const unpaid = await completedEncounter(harness, partner, { ...body, treatmentIds });
  const { lines } = (await call(harness, `GET /orders/${unpaid.order_no}`, { token })).body;
  const later = await claimedEncounter(harness, partner, { ...body, treatmentIds: [ordered, other] });
  const exception = () => ({ decision: 'approved', exceptTreatmentIds: [ordered], rationale: 'The other dose.' });
  return {
    ...{ tenantId, first, later, unpaid, payment: paid.payments[0], sku: String(lines[0].sku) },
    pharmacies: { first: accepted.pharmacyId, unpaid: lines[0].pharmacyId },
    reviews: {
      denial: await reviewBody(harness, partner, later, deny),
      exception: await reviewBody(harness, partner, later, exception),
    },
  };
}

const copied =
  'tenant api_client clinic client category subcategory product product_offer encounter encounter_treatment gfe_item order order_line payment';

/** The numbers of a copy's records, by their names in the template. */
type Numbers = Readonly<Record<'first' | 'later' | 'unpaid', { readonly encounter: string; readonly order: string }>>;

/** A change, and the type of the event that announces its commit. */
interface Change {
  readonly event: string;
  act(send: Send, numbers: Numbers, tenantId: string): Promise<Pick<Answer, 'status' | 'body'>>;
}

const ship: Change = {
  event: 'order.fulfilment_updated',
  act: (send, { first }) =>
    send(`orders/${first.order}/fulfilments`, {
      ...{ pharmacyId: template.pharmacies.first, status: 'shipped', acknowledgeChanges: true },
    }),
};
const accept: Change = {
  event: 'order.fulfilment_updated',
  act: (send, { unpaid }) =>
    send(`orders/${unpaid.order}/fulfilments`, { pharmacyId: template.pharmacies.unpaid, status: 'accepted' }),
};
const revoke: Change = {
  event: 'gfe.revoked',
  act(send, { first }) {
    const [{ categoryId, subcategoryId }] = template.first.gfe_data;
    const items = [{ categoryId, subcategoryId }];
    return send(`encounters/${first.encounter}/revoke`, { reviewerRef: reviewer, items, reason: 'Labs.' });
  },
};
const denial: Change = {
  event: 'gfe.superseded',
  act: (send, { later }) => send(`encounters/${later.encounter}/review`, template.reviews.denial),
};
const exception: Change = {
  event: 'gfe.superseded',
  act: (send, { later }) => send(`encounters/${later.encounter}/review`, template.reviews.exception),
};
const refund: Change = {
  event: 'order.refunded',
  act(send, { first }) {
    const { id: payment_id, amount } = template.payment;
    return send(`orders/${first.order}/refunds`, { payment_id, amount, reason: 'x' }, 'refund');
  },
};
const reorder: Change = {
  event: 'order.created',
  act: (send, { first }) =>
    send(`encounters/${first.encounter}/reorder`, { treatmentIds: template.first.treatmentIds }, 'reorder'),
};
const payInFull: Change = {
  event: 'order.paid',
  act: (send, { unpaid }) => send(`orders/${unpaid.order}/payments`, { amount: '255.00' }, 'payment'),
};
const cancel: Change = {
  event: 'order.cancelled',
  act: (send, { unpaid }) => send(`orders/${unpaid.order}/cancel`, { reason: 'other' }),
};
const hold: Change = {
  event: 'order.held',
  act: async (_send, { first, unpaid }, tenantId) => {
    const { sku } = template;
    for (const { order } of [first, unpaid]) {
      await inTransaction(harness.domain, (transaction) =>
        stopLines({ ...transaction, caller: wholeTenant(tenantId) }, order, { sku }),
      );
    }
    return { status: 200, body: {} };
  },
};

async function numbersOf(tenantId: string): Promise<Numbers> {
  const rows = await prisma.$queryRaw<Record<'id' | 'encounter' | 'order', string>[]>`
    SELECT e.id, e.encounter_no::text AS encounter, o.order_no AS "order" FROM encounter e
      LEFT JOIN "order" o ON o.tenant_id = e.tenant_id AND o.encounter_id = e.id WHERE e.tenant_id = ${tenantId}`;
  const numbersFor = ({ id }: Body) => rows.find((row) => row.id === id) ?? { encounter: '', order: '' };
  const { first, later, unpaid } = template;
  return { first: numbersFor(first), later: numbersFor(later), unpaid: numbersFor(unpaid) };
}

/** The states of all lines of a tenant, sorted. */
async function linesOf(tenantId: string): Promise<string[]> {
  const rows = await prisma.$queryRaw<{ state: string }[]>`
    SELECT concat_ws(' ', o.order_status, l.status, 'held ' || l.hold_reason, CASE WHEN l.recalled_at IS NOT NULL THEN 'recalled' END)
      AS state
      FROM "order" o JOIN order_line l ON l.tenant_id = o.tenant_id AND l.order_id = o.id
      WHERE o.tenant_id = ${tenantId} ORDER BY 1`;
  return rows.map(({ state }) => state);
}

async function eventTypesOf(tenantId: string): Promise<string[]> {
  const rows = await prisma.$queryRaw<{ type: string }[]>`
    SELECT type::text FROM event WHERE tenant_id = ${tenantId} ORDER BY position`;
  return rows.map(({ type }) => type);
}

/** One race: the answers of both, the order of their commits, and the lines afterwards. */
async function race(tenantId: string, one: Change, other: Change, headStart: number): Promise<string> {
  const { token } = await newClient(harness, tenantId);
  const numbers = await numbersOf(tenantId);
  const send: Send = (path, json, key) =>
    call(harness, `POST /${path}`, { token, json, headers: key === undefined ? {} : { 'Idempotency-Key': key } });
  const after = async (requests: number, { act }: Change) => {
    for (let request = 0; request < requests; request += 1) {
      await call(harness, `GET /orders/${numbers.first.order}`, { token });
    }
    return act(send, numbers, tenantId);
  };
  const answers = await Promise.all([after(headStart, one), after(-headStart, other)]);
  const told = answers.map(({ status, body }) => (status < 300 ? 'done' : body.code));
  const events = (await eventTypesOf(tenantId)).filter((type) => type === one.event || type === other.event);
  return `${told.join(', ')}: ${events.join(', ')}: ${(await linesOf(tenantId)).join(', ')}`;
}

const untouched = 'pending pending';

it.each<[string, readonly [Change, Change], string, string]>([
  [
    'no line leaves after its approval is revoked, and a line that has left is recalled',
    [ship, revoke],
    `done, done: order.fulfilment_updated, gfe.revoked: paid shipped recalled, ${untouched}`,
    `approval_ended, done: gfe.revoked: paid accepted held revoked, ${untouched}`,
  ],
  [
    'no line leaves after a later denial of its treatment',
    [ship, denial],
    `done, chart_changed: order.fulfilment_updated: paid shipped, ${untouched}`,
    `approval_ended, done: gfe.superseded: paid accepted held superseded, ${untouched}`,
  ],
  [
    'no line leaves after a later review has excepted its treatment',
    [ship, exception],
    `done, chart_changed: order.fulfilment_updated: paid shipped, ${untouched}`,
    `approval_ended, done: gfe.superseded: paid accepted held superseded, ${untouched}, ${untouched}`,
  ],
  [
    'no line leaves after a full refund',
    [ship, refund],
    `done, done: order.fulfilment_updated, order.refunded: ${untouched}, refunded shipped`,
    `invalid_state, done: order.refunded: ${untouched}, refunded accepted`,
  ],
  [
    'a reorder is refused after a revocation, and held by a later one',
    [reorder, revoke],
    `done, done: order.created, gfe.revoked: paid accepted held revoked, ${untouched}, ${untouched} held revoked`,
    `approval_ended, done: gfe.revoked: paid accepted held revoked, ${untouched}`,
  ],
  [
    'no line is accepted after the operator has stopped its product',
    [accept, hold],
    'done, done: order.fulfilment_updated, order.held: paid accepted, pending accepted held stopped',
    'approval_ended, done: order.held: paid accepted, pending pending held stopped',
  ],
  [
    'no order is both accepted and cancelled',
    [accept, cancel],
    'done, invalid_state: order.fulfilment_updated: paid accepted, pending accepted',
    'invalid_state, done: order.cancelled: cancelled cancelled, paid accepted',
  ],
  [
    'no order is both paid and cancelled',
    [payInFull, cancel],
    'done, invalid_state: order.paid: paid accepted, paid pending',
    'invalid_state, done: order.cancelled: cancelled cancelled, paid accepted',
  ],
])(
  `%s, in ${races} races`,
  async (name, [one, other], ...outcomes) => {
    const prefix = name.replaceAll(/\W+/g, '-');
    await copyTenant(observer, template.tenantId, copied, prefix, races);
    const seen = new Set<string>();
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        for (let number = lane; number < races; number += lanes) {
          // The change with fewer statements wins unless the other one has a head start of some requests.
          seen.add(await race(`${prefix}-${number}`, one, other, (Math.floor(number / lanes) % 8) - 3));
        }
      }),
    );
    expect([...seen].sort()).toEqual(outcomes.sort());
  },
  600_000,
);
