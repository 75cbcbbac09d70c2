import { newCategory, newClinic, newPartner, newProduct, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});
afterAll(() => harness.close());

const list = (query = '', { token }: { token: string | undefined } = partner) =>
  call(harness, `GET /tenants/products${query}`, { token });
const idsOf = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

describe('200', () => {
  it('returns every property of a product, with money as text of two decimals', async () => {
    const mine = await newPartner(harness);
    const { tenantId } = mine;
    const { db, newId } = harness.domain;
    const [createdAt, updatedAt] = [new Date('2026-01-02T03:04:05.678Z'), new Date('2026-02-03T04:05:06.789Z')];
    const [createdBy, updatedBy] = [newId(), newId()];
    const audit = { createdAt, createdBy, updatedAt, updatedBy };
    const clinicId = await newClinic(harness, mine, { createdAt, updatedAt });
    const review = { reviewOften: 'QUARTERLY', reviewRecurring: false };
    const category = { id: newId(), categoryName: 'Weight', ...review, ...audit };
    const subcategory = { id: newId(), categoryId: category.id, subCategoryName: 'GLP-1', ...audit };
    const product = {
      id: newId(),
      sku: 'SEMA-1',
      name: 'Semaglutide',
      description: 'Weekly pen',
      isActive: false,
      isDeleted: false,
      metadata: { color: 'blue' },
      pharmacyId: newId(),
      pharmacyName: 'Lone Star Pharmacy',
      categoryId: category.id,
      subcategoryId: subcategory.id,
      imageUrl: 'https://cdn.example/1.png',
      ...audit,
    };
    const productId = product.id;
    const offer = { id: newId(), productId, qty: -3, qtyAlert: 5, ...audit };
    const variant = {
      id: newId(),
      productOfferId: offer.id,
      name: 'Box',
      sku: 'SEMA-1-B',
      qty: 1,
      isActive: true,
      createdAt,
      updatedAt,
    };
    const rx = {
      id: newId(),
      productId,
      rxNumber: 'RX1',
      drugForm: 'pen',
      drugStrength: '1 mg',
      directions: 'weekly',
      refills: 2,
      rxType: 'new',
      deaScheduleId: newId(),
      quantityUnitOfMeasureId: newId(),
      codeListQualifier: 'q',
      rxQty: 4,
      daysSupply: 28,
      dateWritten: '2026-01-01',
      daw: '0',
      requestedBy: 'Dr. No',
      refrigerationTypeId: newId(),
      notes: 'cold',
      ...audit,
    };
    const entry = { id: newId(), productId, clinicId, isActive: true, createdAt, updatedAt };
    await db.prisma.category.create({ data: { tenantId, ...category } });
    await db.prisma.subcategory.create({ data: { tenantId, ...subcategory } });
    await db.prisma.product.create({ data: { tenantId, ...product, unitPrice: '0.1', externalCode: 'EXT-1' } });
    await db.prisma.productRx.create({ data: { tenantId, ...rx } });
    const money = { price: '9999999999.99', shippingAmount: '25', vendorCost: '0', cogs: '1.5' };
    await db.prisma.productOffer.create({ data: { tenantId, ...offer, ...money, shippingType: 'FREE_SHIPPING' } });
    await db.prisma.offerVariant.create({ data: { tenantId, ...variant, price: '12.3' } });
    await db.prisma.clinicAvailability.create({ data: { tenantId, ...entry } });

    const summary = { ...product, unitPrice: '0.10', productId: 'EXT-1' };
    const { status, body } = await list('', mine);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        asJson({
          ...summary,
          category,
          subcategory,
          productRx: rx,
          clinicAvailability: [
            {
              ...entry,
              clinic: {
                id: clinicId,
                legalName: expect.stringMatching(/, PLLC$/),
                displayName: expect.any(String),
                email: expect.any(String),
                metadata: null,
                tenantId,
                isActive: true,
                createdAt,
                updatedAt,
              },
            },
          ],
          clinicAvailabilityTotal: 1,
          productOffer: {
            ...offer,
            price: '9999999999.99',
            shippingType: 'FREE_SHIPPING',
            shippingAmount: '25.00',
            vendorCost: '0.00',
            cogs: '1.50',
            product: summary,
            offerVariants: [{ ...variant, price: '12.30' }],
          },
        }),
      ],
      meta: { total: 1, page: 1, limit: 20, totalPages: 1, hasNext: false, hasPrev: false },
    });
  });

  it('returns null and empty lists for absent parts of a product', async () => {
    const mine = await newPartner(harness);
    await newProduct(harness, mine);
    expect((await list('', mine)).body.data).toMatchObject([
      {
        productRx: null,
        clinicAvailability: [],
        metadata: null,
        imageUrl: null,
        createdBy: null,
        updatedBy: null,
        productOffer: { offerVariants: [] },
      },
    ]);
  });

  it('never lists or counts deleted products, with any filter', async () => {
    const mine = await newPartner(harness);
    const group = await newCategory(harness, mine);
    const clinicId = await newClinic(harness, mine);
    const kept = await newProduct(harness, mine, { ...group, sku: 'BTX-1', name: 'Botox' });
    await newProduct(harness, mine, { ...group, sku: 'BTX-2', name: 'Botox old', isDeleted: true });
    await newProduct(harness, mine, { ...group, sku: 'BTX-1', name: 'Botox older', isDeleted: true, isActive: false });
    for (const query of [
      '',
      '?search=btx',
      '?search=botox',
      `?categoryId=${group.categoryId}`,
      `?clinicId=${clinicId}`,
      '?sort_by=sku',
      '?isActive=true',
    ]) {
      const { body } = await list(query, mine);
      expect(idsOf(body)).toEqual([kept]);
      expect(body.meta.total).toBe(1);
    }
    expect((await list('?isActive=false', mine)).body.data).toEqual([]);
  });

  it("never lists another tenant's products", async () => {
    const [mine, other] = [await newPartner(harness), await newPartner(harness)];
    const group = await newCategory(harness, other);
    const clinicId = await newClinic(harness, other);
    const theirs = await newProduct(harness, other, group);
    const own = await newProduct(harness, mine);
    for (const [query, ids] of [
      ['', [own]],
      ['?search=SKU', [own]],
      ['?isActive=true', [own]],
      [`?categoryId=${group.categoryId}`, []],
      [`?clinicId=${clinicId}`, []],
    ] as const) {
      expect(idsOf((await list(query, mine)).body)).toEqual(ids);
    }
    expect(idsOf((await list(`?clinicId=${clinicId}`, other)).body)).toEqual([theirs]);
  });

  describe('with filters', () => {
    let mine: Partner;
    let group: { categoryId: string; subcategoryId: string };
    const ids: Record<string, string> = {};
    beforeAll(async () => {
      mine = await newPartner(harness);
      group = await newCategory(harness, mine);
      ids['botox'] = await newProduct(harness, mine, { sku: 'BTX-100', name: 'Botox', ...group });
      ids['filler'] = await newProduct(harness, mine, { sku: 'FIL-1', name: 'Filler btx', ...group, isActive: false });
      ids['serum'] = await newProduct(harness, mine, { sku: 'SER-1', name: 'Serum' });
    });

    it.each([
      ['', ['botox', 'filler', 'serum']],
      ['?isActive=true', ['botox', 'serum']],
      ['?isActive=false', ['filler']],
      ['?search=BtX', ['botox', 'filler']],
      ['?search=ser-', ['serum']],
      ['?search=BTX&isActive=true', ['botox']],
      ['?search=Lone%20Star', []],
      ['?categoryId=GROUP', ['botox', 'filler']],
      ['?categoryId=GROUP&isActive=true', ['botox']],
      ['?categoryId=01a05c32-5e80-7000-8000-00000000ca01', []],
      ['?categoryId=GROUP&search=filler&isActive=false', ['filler']],
    ])('lists and counts the products that match "%s"', async (query, names) => {
      const { status, body } = await list(query.replace('GROUP', group.categoryId), mine);
      expect(status).toBe(200);
      expect(idsOf(body)).toEqual(names.map((name) => ids[name]));
      expect(body.meta.total).toBe(names.length);
    });

    it('accepts a categoryId in either case', async () => {
      const { body } = await list(`?categoryId=${group.categoryId.toUpperCase()}`, mine);
      expect(idsOf(body)).toEqual([ids['botox'], ids['filler']]);
    });
  });
});

describe('400', () => {
  it.each([
    ['isActive=0', 'isActive', ['type']],
    ['isActive=Yes', 'isActive', ['type']],
    ['isActive=null', 'isActive', ['type']],
    ['categoryId=botox', 'categoryId', ['format']],
    ['categoryId=', 'categoryId', ['format']],
    ['clinicId=urn:uuid:01a05c32-5e80-7000-8000-00000000c101', 'clinicId', ['maxLength']],
    ['clinicId=01a05c32-5e80-7000-8000-00000000c10g', 'clinicId', ['format']],
    ['sort_by=price', 'sort_by', ['enum']],
    ['sort_by=name&sort_by=sku', 'sort_by', ['type', 'enum']],
    ['sort_order=descending', 'sort_order', ['enum']],
    [`search=${'x'.repeat(101)}`, 'search', ['maxLength']],
    ['search=%00', 'search', ['pattern']],
    ['state=TX', 'state', ['additionalProperties']],
    ['isDeleted=true', 'isDeleted', ['additionalProperties']],
  ])('refuses %s', async (query, parameter, rules) => {
    expectProblem(
      await list(`?${query}`),
      400,
      'validation_failed',
      rules.map((code) => ({ parameter, code })),
    );
  });
});

/** The value after a round trip through JSON, except that matchers stay matchers. */
function asJson(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value !== 'object' || value === null || 'asymmetricMatch' in value) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asJson(member)]));
}
