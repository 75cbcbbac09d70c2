import fc from 'fast-check';
import {
  encounterBody,
  newCategory,
  newEncounter,
  newPartner,
  newProduct,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { recordOf } from '../../support/reviews.js';

let harness: Harness;
let partner: Partner;
let tenantId: string;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  ({ tenantId } = partner);
});
afterAll(() => harness.close());

const read = async (encounterNo: number) =>
  recordOf((await call(harness, `GET /encounters/${encounterNo}`, { token: partner.token })).body);
const statusOf = async (encounterNo: number) =>
  (await call(harness, 'POST /encounters/status', { token: partner.token, json: { encounter_id: encounterNo } })).body;

describe('the items of an encounter', () => {
  it('group the treatments by category and subcategory, in the order of the treatments', async () => {
    const [first, second] = await Promise.all([newCategory(harness, partner), newCategory(harness, partner)]);
    const times = { createdAt: harness.domain.now(), updatedAt: harness.domain.now() };
    const { id: subcategoryId } = await harness.domain.db.prisma.subcategory.create({
      data: { id: harness.domain.newId(), tenantId, categoryId: first.categoryId, subCategoryName: 'Third', ...times },
    });
    const third = { ...first, subcategoryId };
    const treatmentIds = await Promise.all(
      [second, first, third, second, first].map((group) => newProduct(harness, partner, group)),
    );
    const [a, b, c, d, e] = treatmentIds;
    const { gfe_data, encounter_id } = await newEncounter(harness, partner, { treatmentIds });
    expect(gfe_data).toMatchObject([
      { ...second, status: 'pending_review', treatmentIds: [a, d] },
      { ...first, status: 'pending_review', treatmentIds: [b, e] },
      { ...third, status: 'pending_review', treatmentIds: [c], sub_category_name: 'Third' },
    ]);
    expect((await statusOf(encounter_id)).gfe_data).toEqual(
      gfe_data.map(({ category_name, sub_category_name, status }: Record<string, string>) => ({
        category_name,
        sub_category_name,
        status,
      })),
    );
  });
});

describe('the estimate of createEncounter', () => {
  it('sums the offers’ prices, one unit each, and adds flat-rate shipping only (D-36, D-37)', async () => {
    const botox = await newProduct(harness, partner, { price: '240.00', shippingAmount: '15.00' });
    const semaglutide = await newProduct(harness, partner, {
      price: '299.00',
      shippingType: 'FREE_SHIPPING',
      shippingAmount: '25.00',
      isRx: true,
    });
    await harness.domain.db.prisma.product.updateMany({ where: { tenantId, id: botox }, data: { unitPrice: '1.00' } });
    const { estimate } = await newEncounter(harness, partner, { treatmentIds: [botox, semaglutide] });
    expect(estimate).toEqual({ sub_total: 539, total_shipping_amt: 15, grand_total: 554 });
  });

  it('leaves the stock unchanged and creates no order', async () => {
    const { id, treatmentIds } = await newEncounter(harness, partner);
    const offers = await harness.domain.db.prisma.productOffer.findMany({
      where: { tenantId, productId: { in: treatmentIds } },
    });
    expect(offers.map(({ qty }) => qty)).toEqual([10]);
    expect(await harness.domain.db.prisma.order.count({ where: { tenantId, encounterId: id } })).toBe(0);
  });

  it('is zero for a free treatment', async () => {
    const free = await newProduct(harness, partner, {
      price: '0.00',
      shippingType: 'FREE_SHIPPING',
      shippingAmount: '0.00',
    });
    const { estimate } = await newEncounter(harness, partner, { treatmentIds: [free] });
    expect(estimate).toEqual({ sub_total: 0, total_shipping_amt: 0, grand_total: 0 });
  });

  it('is exact to the cent for every cart', async () => {
    const [body, group] = [await encounterBody(harness, partner), await newCategory(harness, partner)];
    const shelf = await Promise.all(
      prices().map(async (offer) => ({
        ...offer,
        id: await newProduct(harness, partner, { ...group, ...offer }),
      })),
    );
    const cart = fc.shuffledSubarray(shelf, { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(cart, async (lines) => {
        const treatmentIds = lines.map(({ id }) => id);
        const json = { ...body, treatmentIds };
        const {
          body: { estimate, encounter_id },
        } = await call(harness, 'POST /encounters', { token: partner.token, json });
        const subTotal = sum(lines.map(({ price }) => price));
        const shipping = sum(
          lines.filter((line) => line.shippingType === 'FLAT_RATE').map((line) => line.shippingAmount),
        );
        expect(estimate).toEqual({
          sub_total: inUnits(subTotal),
          total_shipping_amt: inUnits(shipping),
          grand_total: inUnits(subTotal + shipping),
        });
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

describe('an open encounter', () => {
  it('stays unchanged when its catalog, patient or clinic changes', async () => {
    const { db } = harness.domain;
    const encounter = await newEncounter(harness, partner);
    const {
      encounter_id,
      clinicId,
      patientId,
      treatmentIds: [productId],
      gfe_data: [item],
    } = encounter;
    const status = await statusOf(encounter_id);
    const [line] = await db.prisma.encounterTreatment.findMany({ where: { tenantId, encounterId: encounter.id } });
    const owned = { where: { tenantId, productId } };

    await db.prisma.clinicAvailability.create({
      data: {
        id: harness.domain.newId(),
        tenantId,
        productId,
        clinicId,
        isActive: false,
        createdAt: new Date(),
        updatedAt: new Date(),
      },
    });
    const data = { price: '999.00', shippingType: 'FREE_SHIPPING', shippingAmount: '0.00' } as const;
    await db.prisma.productOffer.updateMany({ ...owned, data });
    await db.prisma.product.updateMany({
      where: { tenantId, id: productId },
      data: {
        name: 'Other',
        sku: 'OTHER',
        unitPrice: '999.00',
        pharmacyId: harness.domain.newId(),
        pharmacyName: 'Other',
        isActive: false,
        isDeleted: true,
        ...(await newCategory(harness, partner)),
      },
    });
    await db.prisma.subcategory.updateMany({
      where: { tenantId, id: item.subcategoryId },
      data: { subCategoryName: 'Other' },
    });
    await db.prisma.category.updateMany({
      where: { tenantId, id: item.categoryId },
      data: { categoryName: 'Other', reviewOften: 'MONTHLY' },
    });
    await db.prisma.clinicLocation.updateMany({ where: { tenantId, clinicId }, data: { timezone: 'Asia/Tokyo' } });
    await db.prisma.clinic.updateMany({
      where: { tenantId, id: clinicId },
      data: { isActive: false, legalName: 'Other' },
    });
    await db.prisma.patient.updateMany({ where: { tenantId, id: patientId }, data: { accountIsActive: false } });

    expect(await read(encounter_id)).toEqual(encounter);
    expect(await statusOf(encounter_id)).toEqual(status);
    expect(await db.prisma.encounterTreatment.findMany({ where: { tenantId, encounterId: encounter.id } })).toEqual([
      line,
    ]);
  });

  it('keeps a copy of each treatment for the later order', async () => {
    const { db } = harness.domain;
    const productId = await newProduct(harness, partner, { price: '19.99', shippingAmount: '4.50' });
    const { id } = await newEncounter(harness, partner, { treatmentIds: [productId] });
    const product = await db.prisma.product.findUniqueOrThrow({
      where: { tenantId_id: { tenantId, id: productId } },
      include: { category: true, subcategory: true },
    });
    const [line] = await db.prisma.encounterTreatment.findMany({ where: { tenantId, encounterId: id } });
    expect(line).toMatchObject({
      productId,
      position: 0,
      sku: product.sku,
      name: product.name,
      shippingType: 'FLAT_RATE',
      pharmacyId: product.pharmacyId,
      pharmacyName: product.pharmacyName,
      categoryId: product.categoryId,
      categoryName: product.category.categoryName,
      subcategoryId: product.subcategoryId,
      subCategoryName: product.subcategory.subCategoryName,
    });
    expect([line?.price.toFixed(2), line?.shippingAmount.toFixed(2)]).toEqual(['19.99', '4.50']);
  });
});
