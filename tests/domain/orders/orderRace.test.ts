import type { Pool } from 'pg';
import { openPool } from '../../../src/adapters/database/openPool.js';
import { copyTenant } from '../../support/copies.js';
import { encounterBody, newClient, newPartner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { getOrder, pay } from '../../support/orders.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { claimedEncounter, completedEncounter, deny, reviewBody, reviewer } from '../../support/reviews.js';

// The end of an approval, or a full refund, races with the shipment. Events are in the order of commits, so they show which
// came first.

/** Races of each kind; `RACES=1000` runs more. */
const races = Number(process.env['RACES'] ?? 64);
/** Races at a time. */
const lanes = 4;

type Body = Answer['body'];
type Send = (path: string, json: object, headers?: Record<string, string>) => Promise<Answer>;

let database: TestDatabase;
let harness: Harness;
let pool: Pool;
/** A tenant with an accepted and paid order, and a later encounter in review; each race has a copy. */
let template: {
  readonly tenantId: string;
  readonly order: Body;
  readonly first: Body;
  readonly later: Body;
  readonly denial: object;
};
beforeAll(async () => {
  database = await createTestDatabase();
  harness = await startHarness({ databaseUrl: database.url });
  pool = openPool({ connectionString: database.url, max: lanes });
  const partner = await newPartner(harness);
  const body = await encounterBody(harness, partner);
  const first = await completedEncounter(harness, partner, body);
  await pay(harness, partner, first.order_no, { amount: '255.00' });
  const later = await claimedEncounter(harness, partner, body);
  const { body: order } = await getOrder(harness, partner, first.order_no);
  const json = { pharmacyId: order.lines[0].pharmacyId, status: 'accepted' };
  await call(harness, `POST /orders/${order.order_no}/fulfilments`, { token: partner.token, json });
  const denial = await reviewBody(harness, partner, later, deny);
  template = { tenantId: partner.tenantId, order, first, later, denial };
});
afterAll(async () => {
  await pool.end();
  await harness.close();
  await database.drop();
});

const copied =
  'tenant api_client clinic client category subcategory product encounter encounter_treatment gfe_item order order_line payment';

/** The numbers of a copy. */
interface Numbers {
  readonly order_no: string;
  readonly encounter_id: number;
  readonly later_id: number;
}

interface Rival {
  /** Announces the rival's commit. */
  readonly event: 'gfe.revoked' | 'gfe.superseded' | 'order.refunded';
  /** The hold of a line that is not shipped, and the problem of its shipment. */
  readonly hold: string | null;
  readonly refusal: string;
  act(send: Send, numbers: Numbers): Promise<Answer>;
}

const rivals: Readonly<Record<string, Rival>> = {
  revokeApprovals: {
    event: 'gfe.revoked',
    hold: 'revoked',
    refusal: 'approval_ended',
    act(send, { encounter_id }) {
      const items = template.first.gfe_data.map(({ categoryId, subcategoryId }: Body) => ({
        categoryId,
        subcategoryId,
      }));
      return send(`/encounters/${encounter_id}/revoke`, { reviewerRef: reviewer, items, reason: 'Labs.' });
    },
  },
  'denial by submitReview': {
    event: 'gfe.superseded',
    hold: 'superseded',
    refusal: 'approval_ended',
    act: (send, { later_id }) => send(`/encounters/${later_id}/review`, template.denial),
  },
  'full refundPayment': {
    event: 'order.refunded',
    hold: null,
    refusal: 'invalid_state',
    act(send, { order_no }) {
      const [{ id: payment_id, amount }] = template.order.payments;
      return send(`/orders/${order_no}/refunds`, { payment_id, amount, reason: 'x' }, { 'Idempotency-Key': 'refund' });
    },
  },
};

async function numbersOf(tenantId: string): Promise<Numbers> {
  const { rows } = await pool.query<Record<'encounter_no' | 'order_no', string>>(
    `SELECT encounter_no, order_no FROM encounter e LEFT JOIN "order" o ON o.tenant_id = e.tenant_id AND o.encounter_id = e.id
      WHERE e.tenant_id = $1 ORDER BY e.id = $2`,
    [tenantId, template.later.id],
  );
  const [first, later] = rows;
  return {
    order_no: first?.order_no ?? '',
    encounter_id: Number(first?.encounter_no),
    later_id: Number(later?.encounter_no),
  };
}

async function eventTypesOf(tenantId: string): Promise<string[]> {
  const text = 'SELECT type::text FROM event WHERE tenant_id = $1 ORDER BY position';
  return (await pool.query<{ type: string }>(text, [tenantId])).rows.map(({ type }) => type);
}

/**
 * One race; returns which of the two came first.
 * @param headStart of the rival: how many requests precede the shipment
 */
async function race(tenantId: string, { event, hold, refusal, act }: Rival, headStart: number): Promise<string> {
  const { token } = await newClient(harness, tenantId);
  const numbers = await numbersOf(tenantId);
  const send: Send = (path, json, headers = {}) => call(harness, `POST ${path}`, { token, json, headers });
  const ship = async (): Promise<Answer> => {
    for (let request = 0; request < headStart; request += 1) await getOrder(harness, { token }, numbers.order_no);
    const { pharmacyId } = template.order.lines[0];
    return send(`/orders/${numbers.order_no}/fulfilments`, { pharmacyId, status: 'shipped' });
  };
  const [shipped, ended] = await Promise.all([ship(), act(send, numbers)]);
  const types = await eventTypesOf(tenantId);
  const { lines } = (await getOrder(harness, { token }, numbers.order_no)).body;
  const [{ fulfilment, hold: held }] = lines;
  const hasEnded = ended.status === 200 || ended.status === 201;
  const outcome = [hasEnded, shipped.status, shipped.body.code, fulfilment.status, held && held.reason];
  const order = types.filter((type) => type === event || type === 'order.fulfilment_updated');
  if (shipped.status === 200) {
    expect([...outcome, ...order]).toEqual([
      ...[true, 200, undefined, 'shipped', null],
      ...['order.fulfilment_updated', event],
    ]);
    return 'ship';
  }
  expect([...outcome, ...order]).toEqual([true, 409, refusal, 'accepted', hold, event]);
  return 'rival';
}

it.each(Object.entries(rivals))(
  `no line ships after a successful %s, in ${races} races`,
  async (name, rival) => {
    const prefix = `race-${Object.keys(rivals).indexOf(name)}`;
    await copyTenant(pool, template.tenantId, copied, prefix, 0, races);
    const first: string[] = [];
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        for (let number = lane; number < races; number += lanes) {
          // A shipment takes fewer statements than its rivals, so the rivals win only with a head start.
          first.push(await race(`${prefix}-${number}`, rival, Math.floor(number / lanes) % 8));
        }
      }),
    );
    expect(new Set(first)).toEqual(new Set(['ship', 'rival']));
  },
  600_000,
);
