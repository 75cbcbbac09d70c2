import fc from 'fast-check';
import type { EncounterRequest } from '../../../src/domain/encounters/draft.js';
import { createEncounter, getEncounter } from '../../../src/domain/encounters/encounters.js';
import { inCallerTransaction } from '../../../src/domain/transactions/transaction.js';
import {
  encounterBody,
  newCategory,
  newClinic,
  newDocument,
  newEncounter,
  newPartner,
  newProduct,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { callerContext } from '../../support/patientLives.js';
import { expectProblem } from '../../support/refusals.js';
import { claim, recordOf } from '../../support/reviews.js';

let harness: Harness;
let partner: Partner;
let tenantId: string;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  ({ tenantId } = partner);
});
afterAll(() => harness.close());

const read = async (encounterNo: number, { token } = partner) =>
  recordOf((await call(harness, `GET /encounters/${encounterNo}`, { token })).body);
const statusOf = async (encounterNo: number, { token } = partner) =>
  (await call(harness, 'POST /encounters/status', { token, json: { encounter_id: encounterNo } })).body;

it('createEncounter returns exactly the record that getEncounter then returns', async () => {
  const body = await encounterBody(harness, partner);
  const documentIds = [await newDocument(harness, partner, body.patientId)];
  const treatmentIds = [...body.treatmentIds, await newProduct(harness, partner)];
  const request = { ...body, documentIds, treatmentIds } as unknown as EncounterRequest;
  const context = await callerContext(harness, partner, harness.domain.now);
  const created = await inCallerTransaction(context, (transaction) => createEncounter(transaction, request));
  const stored = await inCallerTransaction(context, (transaction) => getEncounter(transaction, created.encounterNo));
  expect(created).toEqual(stored);
});

it('createEncounter groups the treatments into items by category and subcategory, in their order', async () => {
  const [first, second] = await Promise.all([newCategory(harness, partner), newCategory(harness, partner)]);
  const times = { createdAt: harness.domain.now(), updatedAt: harness.domain.now() };
  const { id: subcategoryId } = await harness.domain.db.prisma.subcategory.create({
    data: { id: harness.domain.newId(), tenantId, categoryId: first.categoryId, subCategoryName: 'Third', ...times },
  });
  const third = { ...first, subcategoryId };
  const groups = [second, first, third, second, first];
  const treatmentIds = await Promise.all(groups.map((group) => newProduct(harness, partner, group)));
  const [a, b, c, d, e] = treatmentIds;
  const { gfe_data, encounter_id } = await newEncounter(harness, partner, { treatmentIds });
  expect(gfe_data).toMatchObject([
    { ...second, status: 'pending_review', treatmentIds: [a, d] },
    { ...first, status: 'pending_review', treatmentIds: [b, e] },
    { ...third, status: 'pending_review', treatmentIds: [c], sub_category_name: 'Third' },
  ]);
  const { gfe_data: shown } = await statusOf(encounter_id);
  expect(shown.map((item: object) => Object.keys(item))).toEqual(
    Array(3).fill(['category_name', 'sub_category_name', 'status']),
  );
  expect(gfe_data).toMatchObject(shown);
});

describe('the estimate of createEncounter', () => {
  it('sums the prices of the offers for one unit each, adds flat-rate shipping, and leaves the stock unchanged (R-30, R-55)', async () => {
    const botox = await newProduct(harness, partner, { price: '240.00', shippingAmount: '15.00' });
    const free = { shippingType: 'FREE_SHIPPING', shippingAmount: '25.00' } as const;
    const semaglutide = await newProduct(harness, partner, { price: '299.00', ...free, isRx: true });
    await harness.domain.db.prisma.product.updateMany({ where: { tenantId, id: botox }, data: { unitPrice: '1.00' } });
    const { id, estimate } = await newEncounter(harness, partner, { treatmentIds: [botox, semaglutide] });
    expect(estimate).toEqual({ sub_total: 539, total_shipping_amt: 15, grand_total: 554, currency: 'USD' });
    const where = { tenantId, productId: { in: [botox, semaglutide] } };
    const offers = await harness.domain.db.prisma.productOffer.findMany({ where });
    expect(offers.map(({ qty }) => qty)).toEqual([10, 10]);
    expect(await harness.domain.db.prisma.order.count({ where: { tenantId, encounterId: id } })).toBe(0);
  });

  it('is exact to the cent for every cart', async () => {
    const [body, group] = [await encounterBody(harness, partner), await newCategory(harness, partner)];
    const offers = prices();
    const ids = await Promise.all(offers.map((offer) => newProduct(harness, partner, { ...group, ...offer })));
    const shelf = offers.map((offer, index) => ({ ...offer, id: ids[index] ?? '' }));
    const cart = fc.shuffledSubarray(shelf, { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(cart, async (lines) => {
        const treatmentIds = lines.map(({ id }) => id);
        const { estimate, encounter_id } = await newEncounter(harness, partner, { ...body, treatmentIds });
        const subTotal = sum(lines.map(({ price }) => price));
        const flatRates = lines.filter((line) => line.shippingType === 'FLAT_RATE');
        const shipping = sum(flatRates.map((line) => line.shippingAmount));
        const [sub_total, total_shipping_amt, grand_total] = [subTotal, shipping, subTotal + shipping].map(inUnits);
        expect(estimate).toEqual({ sub_total, total_shipping_amt, grand_total, currency: 'USD' });
        expect((await read(encounter_id)).estimate).toEqual(estimate);
      }),
      { numRuns: 40 },
    );
  });
});

/** Offers of 40 products: amounts that binary fractions get wrong, the extremes of the column, and random ones. */
function prices() {
  const amount = fc.oneof(
    fc.constantFrom('0.00', '0.01', '0.10', '0.20', '0.70', '1.10', '19.99', '9999999999.99'),
    fc.bigInt({ min: 0n, max: 999_999_999_999n }).map((cents) => inText(cents)),
  );
  const shippingType = fc.constantFrom('FLAT_RATE' as const, 'FREE_SHIPPING' as const);
  return fc.sample(fc.record({ price: amount, shippingAmount: amount, shippingType }), 40);
}

const inText = (cents: bigint): string => `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
const inUnits = (cents: bigint): number => Number(inText(cents));
const sum = (amounts: readonly string[]): bigint =>
  amounts.reduce((cents, text) => cents + BigInt(text.replace('.', '')), 0n);

const tokyo = { scheduledTimeZone: 'Asia/Tokyo' };
const day = { scheduledDay: '2027-01-05' };
const noon = { ...day, scheduledTime: '12:00:00' };
const repeated = { scheduledDay: '2027-11-07', scheduledTime: '01:30:00', scheduledTimeZone: 'America/New_York' };
const past = { scheduledDay: '1999-12-31', scheduledTime: '23:59:59', scheduledTimeZone: 'UTC' };
const legacy = { ...noon, scheduledTimeZone: 'EST' };

describe('the schedule of createEncounter', () => {
  it.each([
    [
      'a repeated local time means the earlier instant',
      repeated,
      '2027-11-07T05:30:00.000Z',
      '2027-12-07T05:30:00.000Z',
    ],
    ['a legacy zone is kept as sent', legacy, '2027-01-05T17:00:00.000Z', '2027-02-04T17:00:00.000Z'],
    ['the clinic’s zone is the default', noon, '2027-01-05T18:00:00.000Z', '2027-02-04T18:00:00.000Z'],
    ['a past time is accepted (R-35)', past, '1999-12-31T23:59:59.000Z', '2026-12-20T16:00:00.000Z'],
    ['a day is that of the clinic’s zone', day, null, '2027-02-04T06:00:00.000Z'],
    ['a day is that of the given zone', { ...day, ...tokyo }, null, '2027-02-03T15:00:00.000Z'],
    ['today expires 30 days after creation', { scheduledDay: '2026-11-20' }, null, '2026-12-20T16:00:00.000Z'],
  ])('sets scheduledAt and expiresAt: %s', async (_rule, schedule, scheduledAt, expiresAt) => {
    const body = await newEncounter(harness, partner, schedule);
    expect(body).toMatchObject({ scheduledTime: null, scheduledTimeZone: null, ...schedule, scheduledAt, expiresAt });
    expect(await read(body.encounter_id)).toEqual(body);
  });

  it('allows claims of a synchronous encounter from its day at the clinic on, and of an asynchronous one at once', async () => {
    await claim(harness, partner, await newEncounter(harness, partner, noon));
    const { encounter_id } = await newEncounter(harness, partner, { reviewType: 'synchronous', ...day });
    const request = { token: partner.token, json: { reviewerRef: 'NPI-1' } };
    expectProblem(await call(harness, `POST /encounters/${encounter_id}/claim`, request), 409, 'not_due');
  });

  it('interprets the day in UTC and allows claims at once if neither schedule nor clinic has a time zone', async () => {
    const clinicId = await newClinic(harness, partner, { places: [{ state: 'TX', timezone: null }] });
    const body = await newEncounter(harness, partner, { clinicId, reviewType: 'synchronous', ...day });
    expect(body).toMatchObject({ scheduledAt: null, expiresAt: '2027-02-04T00:00:00.000Z' });
    await claim(harness, partner, body);
  });
});

describe('an open encounter', () => {
  it('stays unchanged when its catalog, patient or clinic changes', async () => {
    const owner = await newPartner(harness);
    const { encounter_id, ...rest } = await newEncounter(harness, owner);
    const { db } = harness.domain;
    const where = { tenantId: owner.tenantId };
    const readAll = async () => [
      await read(encounter_id, owner),
      await statusOf(encounter_id, owner),
      await db.prisma.encounterTreatment.findMany({ where }),
    ];
    const before = await readAll();
    expect(before[0]).toEqual({ encounter_id, ...rest });
    const group = await newCategory(harness, owner);
    for (const change of [
      `product_offer SET price = 999, shipping_type = 'FREE_SHIPPING', shipping_amount = 0`,
      `product SET name = 'Other', sku = 'OTHER', unit_price = 999, pharmacy_id = gen_random_uuid(),
        pharmacy_name = 'Other', is_active = false, is_deleted = true, category_id = '${group.categoryId}',
        subcategory_id = '${group.subcategoryId}'`,
      `subcategory SET sub_category_name = 'Other'`,
      `category SET category_name = 'Other ' || id, review_often = 'MONTHLY'`,
      `clinic_location SET timezone = 'Asia/Tokyo'`,
      `clinic SET is_active = false, legal_name = 'Other'`,
      `client SET account_is_active = false`,
    ])
      expect(
        await db.prisma.$executeRawUnsafe(`UPDATE ${change} WHERE tenant_id = $1`, owner.tenantId),
      ).toBeGreaterThan(0);
    await db.prisma.$executeRaw`
      INSERT INTO clinic_availability SELECT gen_random_uuid(), tenant_id, product_id, ${rest.clinicId}::uuid, false,
        now(), now() FROM product_offer WHERE tenant_id = ${owner.tenantId}`;
    expect(await readAll()).toEqual(before);
  });

  it('keeps a copy of each treatment, from which the order is made', async () => {
    const { db } = harness.domain;
    const productId = await newProduct(harness, partner, { price: '19.99', shippingAmount: '4.50' });
    const { id } = await newEncounter(harness, partner, { treatmentIds: [productId] });
    const { sku, name, pharmacyId, pharmacyName, ...product } = await db.prisma.product.findUniqueOrThrow({
      where: { tenantId_id: { tenantId, id: productId } },
      include: { category: true, subcategory: true },
    });
    const [treatment] = await db.prisma.encounterTreatment.findMany({ where: { tenantId, encounterId: id } });
    const { categoryId, subcategoryId, category, subcategory } = product;
    expect(treatment).toMatchObject({
      ...{ productId, position: 0, sku, name, pharmacyId, pharmacyName, categoryId, subcategoryId },
      shippingType: 'FLAT_RATE',
      categoryName: category.categoryName,
      subCategoryName: subcategory.subCategoryName,
    });
    expect([treatment?.price.toFixed(2), treatment?.shippingAmount.toFixed(2)]).toEqual(['19.99', '4.50']);
  });
});
