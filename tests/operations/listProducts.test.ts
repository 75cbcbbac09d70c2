import { newCategory, newClinic, newPartner, newProduct, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const list = (query = '', { token }: { token: string | undefined } = partner) =>
  call(harness, `GET /tenants/products${query}`, { token });
const idsOf = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

describe('listProducts 200', () => {
  // The examples of the contract have every other property (tests/contract/examples).
  it('returns the optional properties of a product, with money as text of two decimals', async () => {
    const mine = await newPartner(harness);
    const availability = [{ clinicId: await newClinic(harness, mine), isActive: false }];
    await newProduct(harness, mine, { isRx: true, availability });
    const { db, newId } = harness.domain;
    const where = { tenantId: mine.tenantId };
    const times = { createdAt: '2026-01-02T03:04:05.678Z', updatedAt: '2026-02-03T04:05:06.789Z' };
    const authors = { ...times, createdBy: newId(), updatedBy: newId() };
    const product = { metadata: { color: 'blue' }, imageUrl: 'https://cdn.example/1.png', isActive: false, ...authors };
    const dated = { rxNumber: 'RX1', dateWritten: '2026-01-01', daw: '0' };
    const productRx = { codeListQualifier: 'q', requestedBy: 'Dr. No', notes: 'cold', ...dated, ...authors };
    const offer = { qty: -3, price: '9999999999.99', ...authors };
    await db.prisma.category.updateMany({ where, data: authors });
    await db.prisma.subcategory.updateMany({ where, data: authors });
    await db.prisma.product.updateMany({ where, data: { unitPrice: '0.1', ...product } });
    await db.prisma.productRx.updateMany({ where, data: productRx });
    const money = { shippingAmount: '25', vendorCost: '0', cogs: '1.5' };
    await db.prisma.productOffer.updateMany({ where, data: { ...money, ...offer } });
    await db.prisma.clinicAvailability.updateMany({ where, data: times });
    const { id: productOfferId } = await db.prisma.productOffer.findFirstOrThrow({ where });
    const variant = { id: newId(), productOfferId, name: 'Box', sku: 'BOX-1', qty: 1, isActive: false, ...times };
    await db.prisma.offerVariant.create({ data: { ...where, ...variant, price: '12.3' } });
    const shown = { unitPrice: '0.10', ...product };
    const texts = { shippingAmount: '25.00', vendorCost: '0.00', cogs: '1.50' };
    expect((await list('', mine)).body.data).toMatchObject([
      {
        ...shown,
        category: authors,
        subcategory: authors,
        productRx,
        clinicAvailability: [{ ...availability[0], ...times }],
        productOffer: { ...texts, ...offer, product: shown, offerVariants: [{ ...variant, price: '12.30' }] },
      },
    ]);
  });

  describe('with filters', () => {
    let mine: Partner;
    let group: { categoryId: string; subcategoryId: string };
    let clinicId: string;
    const ids: Record<string, string> = {};
    beforeAll(async () => {
      mine = await newPartner(harness);
      group = await newCategory(harness, mine);
      clinicId = await newClinic(harness, mine);
      const botox = { sku: 'BTX-100', name: 'Botox', ...group };
      ids['botox'] = await newProduct(harness, mine, botox);
      ids['filler'] = await newProduct(harness, mine, { sku: 'FIL-1', name: 'Filler btx', ...group, isActive: false });
      ids['serum'] = await newProduct(harness, mine, { sku: 'SER-1', name: 'Serum' });
      for (const isActive of [true, false]) await newProduct(harness, mine, { ...botox, isActive, isDeleted: true });
      const other = await newPartner(harness);
      await newProduct(harness, other, { ...botox, ...(await newCategory(harness, other)) });
    });

    it.each([
      ['', ['botox', 'filler', 'serum']],
      ['?isActive=true', ['botox', 'serum']],
      ['?isActive=false', ['filler']],
      ['?search=BtX', ['botox', 'filler']],
      ['?search=ser-', ['serum']],
      ['?sort_by=sku', ['botox', 'filler', 'serum']],
      ['?clinicId=CLINIC', ['botox', 'filler', 'serum']],
      ['?search=BTX&isActive=true', ['botox']],
      ['?search=Lone%20Star', []],
      ['?categoryId=GROUP', ['botox', 'filler']],
      ['?categoryId=GROUP_IN_CAPITALS', ['botox', 'filler']],
      ['?categoryId=GROUP&isActive=true', ['botox']],
      ['?categoryId=01a05c32-5e80-7000-8000-00000000ca01', []],
      ['?categoryId=GROUP&search=filler&isActive=false', ['filler']],
    ])(
      'lists and counts the products that match the query "%s", none that is deleted and none of another tenant',
      async (query, names) => {
        const { categoryId } = group;
        const upper = categoryId.toUpperCase();
        const path = query.replace('GROUP_IN_CAPITALS', upper).replace('GROUP', categoryId).replace('CLINIC', clinicId);
        const { status, body } = await list(path, mine);
        expect(status).toBe(200);
        expect(idsOf(body)).toEqual(names.map((name) => ids[name]));
        expect(body.meta.total).toBe(names.length);
      },
    );
  });
});
