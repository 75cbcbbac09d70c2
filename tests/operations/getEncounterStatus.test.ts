import fc from 'fast-check';
import {
  newClient,
  newClinic,
  newEncounter,
  newPartner,
  newProduct,
  newToken,
  type Partner,
} from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { pay } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { approve, cancelled, completedEncounter, deny, reviewed } from '../support/reviews.js';

let harness: Harness;
let partner: Partner;
/** An encounter with a partly paid order of two treatments, and one without an order. */
let ordered: Answer['body'];
let plain: Answer['body'];
let orderNo: string;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  const treatmentIds = [
    await newProduct(harness, partner, { price: '240.00', shippingAmount: '15.00' }),
    await newProduct(harness, partner, { price: '299.00', shippingType: 'FREE_SHIPPING', shippingAmount: '25.00' }),
  ];
  [ordered, plain] = [
    await completedEncounter(harness, partner, { treatmentIds }),
    await newEncounter(harness, partner),
  ];
  orderNo = ordered.order_no;
  await pay(harness, partner, orderNo, { amount: '300.00' });
});
afterAll(() => harness.close());

const ask = (json: unknown, options: CallOptions = { token: partner.token }) =>
  call(harness, 'POST /encounters/status', { ...options, json });

describe('200', () => {
  it('returns exactly the properties of the contract, without order_details if there is no order', async () => {
    const { status, headers, body } = await ask({ encounter_id: plain.encounter_id });
    const [{ category_name, sub_category_name }] = plain.gfe_data;
    expect(status).toBe(200);
    expect(body).toEqual({
      encounter_id: plain.encounter_id,
      gfe_no: plain.gfe_no,
      gfe_data: [{ category_name, sub_category_name, status: 'pending_review' }],
    });
    expect(body).not.toHaveProperty('order_details');
    expect(headers.get('Cache-Control')).toBe('no-store');
  });

  it('returns the order with exactly the properties of the contract', async () => {
    const { body } = await ask({ encounter_id: ordered.encounter_id });
    expect(Object.keys(body).sort()).toEqual(['encounter_id', 'gfe_data', 'gfe_no', 'order_details']);
    expect(body.order_details).toEqual({
      order_no: orderNo,
      order_status: 'pending',
      sub_total: 539,
      grand_total: 554,
      paid_amt: 300,
      balance_amt: 254,
      total_shipping_amt: 15,
      created_date: '2026-11-20 16:00:00',
    });
  });

  it('returns the time of the order in UTC, without fractions (D-43)', async () => {
    const { order_no, encounter_id } = await completedEncounter(harness, partner);
    await harness.domain.db.prisma.order.updateMany({
      where: { tenantId: partner.tenantId, orderNo: order_no },
      data: { createdAt: '2027-07-01T00:05:09.999+02:00' },
    });
    expect((await ask({ encounter_id })).body.order_details.created_date).toBe('2027-06-30 22:05:09');
  });

  it('finds the encounter by any identifier in either case, and by several that agree (D-32, D-51)', async () => {
    const { encounter_id, gfe_no } = ordered;
    const expected = (await ask({ encounter_id })).body;
    for (const json of [
      { gfe_no },
      { gfe_no: gfe_no.toLowerCase() },
      { order_no: orderNo },
      { order_no: orderNo.toLowerCase() },
      { encounter_id, gfe_no },
      { encounter_id, order_no: orderNo },
      { gfe_no, order_no: orderNo },
      { encounter_id, gfe_no, order_no: orderNo },
    ]) {
      expect((await ask(json)).body).toEqual(expected);
    }
  });

  it('returns every amount of an order exact to the cent', async () => {
    const { order_no, encounter_id } = await completedEncounter(harness, partner);
    const { tenantId } = partner;
    const most = 49_999_999_999_999n;
    const cents = fc.bigInt({ min: 0n, max: most });
    await fc.assert(
      fc.asyncProperty(cents, cents, fc.bigInt({ min: 0n, max: 1_000_000n }), async (price, shipping, part) => {
        const grand = price + shipping;
        const paid = (grand * part) / 1_000_000n;
        await harness.domain.db.prisma.order.updateMany({
          where: { tenantId, orderNo: order_no },
          data: {
            subTotal: inText(price),
            totalShippingAmt: inText(shipping),
            grandTotal: inText(grand),
            paidAmt: inText(paid),
            orderStatus: paid === grand ? 'paid' : 'pending',
          },
        });
        expect((await ask({ encounter_id })).body.order_details).toMatchObject({
          order_status: paid === grand ? 'paid' : 'pending',
          sub_total: inUnits(price),
          total_shipping_amt: inUnits(shipping),
          grand_total: inUnits(grand),
          paid_amt: inUnits(paid),
          balance_amt: inUnits(grand - paid),
        });
      }),
      {
        numRuns: 40,
        examples: [
          [10n, 20n, 0n],
          [70n, 110n, 333_333n],
          [0n, 0n, 0n],
          [most, most, 500_000n],
        ],
      },
    );
  });

  const statesOf = async ({ encounter_id }: Answer['body'], token = partner.token): Promise<string[]> =>
    (await ask({ encounter_id }, { token })).body.gfe_data.map(({ status }: { status: string }) => status);

  it('returns the status of each item, also when decisions differ', async () => {
    const treatmentIds = [await newProduct(harness, partner), await newProduct(harness, partner)];
    const encounter = await newEncounter(harness, partner, { treatmentIds });
    await reviewed(harness, partner, encounter, (item, index) => (index === 0 ? deny : approve)(item, index));
    expect(await statesOf(encounter)).toEqual(['denied', 'approved']);
    expect(await statesOf(await cancelled(harness, partner, await newEncounter(harness, partner)))).toEqual([
      'cancelled',
    ]);
  });

  it('returns no order_details when every item is denied', async () => {
    const { encounter_id } = await reviewed(harness, partner, await newEncounter(harness, partner), deny);
    expect((await ask({ encounter_id })).body).not.toHaveProperty('order_details');
  });

  it('returns an approval as expired from its validUntil on', async () => {
    const encounter = await completedEncounter(harness, partner);
    const { now } = harness.clock;
    const atTheEnd = async (milliseconds: number): Promise<string[]> => {
      harness.clock.now = new Date(Date.parse(encounter.gfe_data[0].validUntil) + milliseconds);
      return statesOf(encounter, await newToken(harness, partner));
    };
    expect([await atTheEnd(-1), await atTheEnd(0)]).toEqual([['approved'], ['expired']]);
    harness.clock.now = now;
  });

  it('serves a client that is limited to this clinic', async () => {
    const { token } = await newClient(harness, partner.tenantId, ['read:encounter'], [plain.clinicId]);
    expect((await ask({ gfe_no: plain.gfe_no }, { token })).status).toBe(200);
  });

  it('does not change the encounter', async () => {
    const before = await harness.domain.db.prisma.encounter.findMany({ where: { tenantId: partner.tenantId } });
    await ask({ encounter_id: plain.encounter_id });
    expect(await harness.domain.db.prisma.encounter.findMany({ where: { tenantId: partner.tenantId } })).toEqual(
      before,
    );
  });
});

const inText = (cents: bigint): string => `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
const inUnits = (cents: bigint): number => Number(inText(cents));

describe('400', () => {
  it('answers identifier_required to an empty object', async () => {
    expectProblem(await ask({}), 400, 'identifier_required', [{ pointer: '#' }]);
  });

  type Fault = [what: string, json: object, pointer: string, rule: string];
  const malformed = [
    '',
    'GFE',
    'GFE-',
    '-100001',
    'GFE100001',
    'GFE-1000x1',
    'G-100001',
    'ELEVENCHARS-1',
    'GFE--1',
    ' GFE-100001',
    'GFE-100001 ',
    'GFE-1000000000000000000',
    'GFE-１',
    'GFE-100001\n',
    'GFE-100001\u0000',
  ];

  it.each<Fault>([
    ['a number as text', { encounter_id: '5' }, '#/encounter_id', 'type'],
    ['zero', { encounter_id: 0 }, '#/encounter_id', 'minimum'],
    ['more than 2^53 − 1', { encounter_id: 2 ** 53 }, '#/encounter_id', 'maximum'],
    ['a GFE number that is a number', { gfe_no: 100_001 }, '#/gfe_no', 'type'],
    ...malformed.map((gfe_no): Fault => [JSON.stringify(gfe_no), { gfe_no }, '#/gfe_no', 'pattern']),
    ['a malformed order number', { order_no: '100001' }, '#/order_no', 'pattern'],
    ['the misspelt property orderNo', { orderNo: 'ORD-100001' }, '#/orderNo', 'additionalProperties'],
    ['a valid identifier beside an unknown property', { encounter_id: 100_001, id: 1 }, '#/id', 'additionalProperties'],
  ])('refuses %s', async (_what, json, pointer, code) => {
    expectProblem(await ask(json), 400, 'validation_failed', [{ pointer, code }]);
  });

  it('refuses a fractional encounter_id', async () => {
    expectProblem(await ask({ encounter_id: 1.5 }), 400, 'validation_failed');
  });

  it('answers identifier_mismatch alike to identifiers of two encounters, known or not (D-32)', async () => {
    const foreign = await newEncounter(harness, await newPartner(harness));
    const { encounter_id } = ordered;
    const answers: Answer[] = [];
    for (const json of [
      { encounter_id, gfe_no: plain.gfe_no },
      { encounter_id: plain.encounter_id, order_no: orderNo },
      { encounter_id, gfe_no: plain.gfe_no, order_no: orderNo },
      { encounter_id, gfe_no: 'GFE-999999999' },
      { encounter_id: 999_999_999, gfe_no: ordered.gfe_no },
      { encounter_id, order_no: 'ORD-999999' },
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
    ['an empty body', '', 'application/json', 'validation_failed'],
    ['plain text (D-35)', '{"encounter_id":100001}', 'text/plain', 'content_type_not_json'],
  ] as const)('refuses %s', async (_what, raw, type, code) => {
    const headers = { 'Content-Type': type };
    expectProblem(await call(harness, 'POST /encounters/status', { token: partner.token, raw, headers }), 400, code);
  });
});

describe('403', () => {
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
  it("answers alike for another tenant's encounter and an unknown number (D-31)", async () => {
    const other = await newPartner(harness);
    const foreign = await completedEncounter(harness, other);
    const foreignOrder = foreign.order_no;
    const headers = { 'X-Request-Id': plain.id };
    const unknown = await ask({ order_no: 'ORD-999999' }, { token: partner.token, headers });
    expectProblem(unknown, 404, 'encounter_not_found');
    const limited = await newClient(harness, partner.tenantId, undefined, [plain.clinicId]);
    for (const { token } of [partner, limited]) {
      for (const json of [
        { encounter_id: foreign.encounter_id },
        { gfe_no: foreign.gfe_no },
        { order_no: foreignOrder },
        { encounter_id: foreign.encounter_id, gfe_no: foreign.gfe_no, order_no: foreignOrder },
        { encounter_id: Number.MAX_SAFE_INTEGER },
        { gfe_no: 'GFE-999999999999999999' },
        { gfe_no: 'GFE-0100001' },
        { gfe_no: orderNo },
      ]) {
        expect((await ask(json, { token, headers })).text).toBe(unknown.text);
      }
    }
    expect((await ask({ order_no: foreignOrder }, other)).body.encounter_id).toBe(foreign.encounter_id);
  });
});
