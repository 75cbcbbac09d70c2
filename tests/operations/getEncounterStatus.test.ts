import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newClient, newClinic, newEncounter, newOrder, newPartner, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { expectProblem, tokenWithout, unauthenticated, withoutDatabase, withoutTable } from '../support/refusals.js';

const amounts = { subTotal: '539.00', totalShippingAmt: '15.00', grandTotal: '554.00', paidAmt: '300.00' };

let harness: Harness;
let partner: Partner;
/** Two encounters; only the first one has an order. */
let ordered: Answer['body'];
let plain: Answer['body'];
let orderNo: string;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  [ordered, plain] = [await newEncounter(harness, partner), await newEncounter(harness, partner)];
  orderNo = await newOrder(harness, partner, ordered.id, amounts);
});
afterAll(() => harness.close());

const ask = (json: unknown, options: CallOptions = { token: partner.token }) =>
  call(harness, 'POST /encounters/status', { ...options, json });

describe('200', () => {
  it('tells exactly what the interface shows, and no order when there is none', async () => {
    const { status, headers, body } = await ask({ encounter_id: plain.encounter_id });
    const [{ category_name, sub_category_name }] = plain.gfe_data;
    expect(status).toBe(200);
    expect(body).toEqual({
      encounter_id: plain.encounter_id, gfe_no: plain.gfe_no,
      gfe_data: [{ category_name, sub_category_name, status: 'pending_review' }],
    });
    expect(body).not.toHaveProperty('order_details');
    expect(headers.get('Cache-Control')).toBe('no-store');
  });

  it('tells the order with exactly the interface’s fields', async () => {
    const { body } = await ask({ encounter_id: ordered.encounter_id });
    expect(Object.keys(body).sort()).toEqual(['encounter_id', 'gfe_data', 'gfe_no', 'order_details']);
    expect(body.order_details).toEqual({
      order_no: orderNo, order_status: 'pending', sub_total: 539, grand_total: 554, paid_amt: 300, balance_amt: 254,
      total_shipping_amt: 15, created_date: '2026-11-20 16:00:00',
    });
  });

  it('tells the time of the order in UTC, without fractions (D-43)', async () => {
    const { id, encounter_id } = await newEncounter(harness, partner);
    const no = await newOrder(harness, partner, id, amounts);
    await harness.domain.db.order.updateMany({
      where: { tenantId: partner.tenantId, orderNo: no }, data: { createdAt: '2027-07-01T00:05:09.999+02:00' },
    });
    expect((await ask({ encounter_id })).body.order_details.created_date).toBe('2027-06-30 22:05:09');
  });

  it('is found by each of the numbers, in either case, and by several that agree (D-32, D-51)', async () => {
    const { encounter_id, gfe_no } = ordered;
    const expected = (await ask({ encounter_id })).body;
    for (const json of [
      { gfe_no }, { gfe_no: gfe_no.toLowerCase() }, { order_no: orderNo }, { order_no: orderNo.toLowerCase() },
      { encounter_id, gfe_no }, { encounter_id, order_no: orderNo }, { gfe_no, order_no: orderNo },
      { encounter_id, gfe_no, order_no: orderNo },
    ]) {
      expect((await ask(json)).body).toEqual(expected);
    }
  });

  it('tells every amount of an order exact to the cent', async () => {
    const { id, encounter_id } = await newEncounter(harness, partner);
    const { tenantId } = partner;
    const order = await newOrder(harness, partner, id, amounts);
    const most = 49_999_999_999_999n;
    const cents = fc.bigInt({ min: 0n, max: most });
    await fc.assert(fc.asyncProperty(cents, cents, fc.bigInt({ min: 0n, max: 1_000_000n }), async (price, shipping, part) => {
      const grand = price + shipping;
      const paid = (grand * part) / 1_000_000n;
      await harness.domain.db.order.updateMany({
        where: { tenantId, orderNo: order },
        data: {
          subTotal: inText(price), totalShippingAmt: inText(shipping), grandTotal: inText(grand), paidAmt: inText(paid),
          orderStatus: paid === grand ? 'paid' : 'pending',
        },
      });
      expect((await ask({ encounter_id })).body.order_details).toMatchObject({
        order_status: paid === grand ? 'paid' : 'pending', sub_total: inUnits(price), total_shipping_amt: inUnits(shipping),
        grand_total: inUnits(grand), paid_amt: inUnits(paid), balance_amt: inUnits(grand - paid),
      });
    }), { numRuns: 40, examples: [[10n, 20n, 0n], [70n, 110n, 333_333n], [0n, 0n, 0n], [most, most, 500_000n]] });
  });

  it('tells the state of each item', async () => {
    const { id, encounter_id } = await newEncounter(harness, partner);
    for (const status of ['approved', 'denied', 'cancelled', 'expired'] as const) {
      await harness.domain.db.gfeItem.updateMany({ where: { tenantId: partner.tenantId, encounterId: id }, data: { status } });
      expect((await ask({ encounter_id })).body.gfe_data).toMatchObject([{ status }]);
    }
  });

  it('is for a client that is limited to this clinic, too', async () => {
    const { token } = await newClient(harness, partner.tenantId, ['read:encounter'], [plain.clinicId]);
    expect((await ask({ gfe_no: plain.gfe_no }, { token })).status).toBe(200);
  });

  it('changes nothing', async () => {
    const before = await harness.domain.db.encounter.findMany({ where: { tenantId: partner.tenantId } });
    await ask({ encounter_id: plain.encounter_id });
    expect(await harness.domain.db.encounter.findMany({ where: { tenantId: partner.tenantId } })).toEqual(before);
  });
});

const inText = (cents: bigint): string => `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
const inUnits = (cents: bigint): number => Number(inText(cents));

describe('400', () => {
  it('asks for an identifier', async () => {
    expectProblem(await ask({}), 400, 'identifier_required', [{ pointer: '#' }]);
  });

  type Fault = [what: string, json: object, pointer: string, rule: string];
  const malformed = [
    '', 'GFE', 'GFE-', '-100001', 'GFE100001', 'GFE-1000x1', 'G-100001', 'ELEVENCHARS-1', 'GFE--1', ' GFE-100001',
    'GFE-100001 ', 'GFE-1000000000000000000', 'GFE-１', 'GFE-100001\n', 'GFE-100001\u0000',
  ];

  it.each<Fault>([
    ['a number as text', { encounter_id: '5' }, '#/encounter_id', 'type'],
    ['zero', { encounter_id: 0 }, '#/encounter_id', 'minimum'],
    ['more than 2^53 − 1', { encounter_id: 2 ** 53 }, '#/encounter_id', 'maximum'],
    ['null', { encounter_id: null }, '#/encounter_id', 'type'],
    ['a GFE number that is a number', { gfe_no: 100_001 }, '#/gfe_no', 'type'],
    ...malformed.map((gfe_no): Fault => [JSON.stringify(gfe_no), { gfe_no }, '#/gfe_no', 'pattern']),
    ['a malformed order number', { order_no: '100001' }, '#/order_no', 'pattern'],
    ['the order number under another name', { orderNo: 'ORD-100001' }, '#/orderNo', 'additionalProperties'],
    ['a valid identifier with an unknown one', { encounter_id: 100_001, id: 1 }, '#/id', 'additionalProperties'],
  ])('refuses %s', async (_what, json, pointer, code) => {
    expectProblem(await ask(json), 400, 'validation_failed', [{ pointer, code }]);
  });

  it('refuses a fraction', async () => {
    expectProblem(await ask({ encounter_id: 1.5 }), 400, 'validation_failed');
  });

  it('refuses identifiers of two encounters, whatever is wrong with the second (D-32)', async () => {
    const foreign = await newEncounter(harness, await newPartner(harness));
    const { encounter_id } = ordered;
    const answers: Answer[] = [];
    for (const json of [
      { encounter_id, gfe_no: plain.gfe_no }, { encounter_id: plain.encounter_id, order_no: orderNo },
      { encounter_id, gfe_no: plain.gfe_no, order_no: orderNo }, { encounter_id, gfe_no: 'GFE-999999999' },
      { encounter_id: 999_999_999, gfe_no: ordered.gfe_no }, { encounter_id, order_no: 'ORD-999999' },
      { encounter_id, gfe_no: foreign.gfe_no },
    ]) {
      answers.push(await ask(json, { token: partner.token, headers: { 'X-Request-Id': ordered.id } }));
    }
    for (const answer of answers) expectProblem(answer, 400, 'identifier_mismatch');
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it.each([
    ['malformed JSON', '{', 'application/json', 'malformed_json'],
    ['a list', '[{"encounter_id":1}]', 'application/json', 'validation_failed'],
    ['a text that holds JSON', JSON.stringify('{"encounter_id":100001}'), 'application/json', 'validation_failed'],
    ['no body at all', '', 'application/json', 'validation_failed'],
    ['plain text (D-35)', '{"encounter_id":100001}', 'text/plain', 'content_type_not_json'],
  ] as const)('refuses %s', async (_what, raw, type, code) => {
    const headers = { 'Content-Type': type };
    expectProblem(await call(harness, 'POST /encounters/status', { token: partner.token, raw, headers }), 400, code);
  });
});

describe('401', () => {
  it.each(unauthenticated)('refuses %s', async (_what, tokenOf, code) => {
    expectProblem(await ask({}, { token: await tokenOf(harness, partner) }), 401, code);
  });
});

describe('403', () => {
  it('refuses a token without read:encounter, whatever it asks for', async () => {
    const token = await tokenWithout(harness, partner, 'read:encounter');
    for (const json of [{ encounter_id: plain.encounter_id }, { order_no: 'ORD-999999' }, {}]) {
      expectProblem(await ask(json, { token }), 403, 'insufficient_permission');
    }
  });

  it('refuses a client that is limited to other clinics (D-31)', async () => {
    const { token } = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    for (const json of [{ encounter_id: plain.encounter_id }, { gfe_no: plain.gfe_no }, { order_no: orderNo }]) {
      const answer = await ask(json, { token });
      expectProblem(answer, 403, 'clinic_not_permitted');
      expect(answer.text).not.toContain(plain.id);
    }
  });
});

describe('404', () => {
  it("never reveals another tenant's encounter: the answer is that for an unknown number (D-31)", async () => {
    const other = await newPartner(harness);
    const foreign = await newEncounter(harness, other);
    const foreignOrder = await newOrder(harness, other, foreign.id, amounts);
    const headers = { 'X-Request-Id': plain.id };
    const unknown = await ask({ order_no: 'ORD-999999' }, { token: partner.token, headers });
    expectProblem(unknown, 404, 'encounter_not_found');
    const limited = await newClient(harness, partner.tenantId, undefined, [plain.clinicId]);
    for (const { token } of [partner, limited]) {
      for (const json of [
        { encounter_id: foreign.encounter_id }, { gfe_no: foreign.gfe_no }, { order_no: foreignOrder },
        { encounter_id: foreign.encounter_id, gfe_no: foreign.gfe_no, order_no: foreignOrder },
        { encounter_id: Number.MAX_SAFE_INTEGER }, { gfe_no: 'GFE-999999999999999999' }, { gfe_no: 'GFE-0100001' },
        { gfe_no: orderNo },
      ]) {
        expect((await ask(json, { token, headers })).text).toBe(unknown.text);
      }
    }
    expect((await ask({ order_no: foreignOrder }, other)).body.encounter_id).toBe(foreign.encounter_id);
  });
});

describe('413', () => {
  it('refuses a body of more than 256 KiB', async () => {
    expectProblem(await ask({ gfe_no: 'G'.repeat(256 * 1024) }), 413, 'body_too_large');
  });
});

describe('500', () => {
  it('tells nothing about a failure of ours', async () => {
    const answer = await withoutTable(harness, 'order', () => ask({ encounter_id: plain.encounter_id }));
    expectProblem(answer, 500, 'internal_error');
    expect(answer.text).not.toMatch(/relation|prisma/i);
  });
});

describe('503', () => {
  it('asks to come back when the database is down', async () => {
    const answer = await withoutDatabase(harness, () => ask({ encounter_id: plain.encounter_id }));
    expectProblem(answer, 503, 'dependency_unavailable');
    expect(answer.headers.get('Retry-After')).toBe('5');
    expect((await ask({ encounter_id: plain.encounter_id })).status).toBe(200);
  });
});
