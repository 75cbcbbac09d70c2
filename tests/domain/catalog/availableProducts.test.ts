import { newClient, newClinic, newPartner, newProduct, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const [here, there] = [await newClinic(harness, partner), await newClinic(harness, partner)];
const closed = await newClinic(harness, partner, { isActive: false });
const active = (clinicId: string) => ({ clinicId, isActive: true });
const over = (clinicId: string) => ({ clinicId, isActive: false });
const product = (name: string, availability: ReturnType<typeof active>[], isActive = true) =>
  newProduct(harness, partner, { name, availability, isActive });
await product('anywhere', []);
await product('here', [active(here)]);
await product('there', [active(there)]);
await product('both', [active(here), active(there)]);
await product('no longer here', [over(here)]);
await product('no longer here, but there', [over(here), active(there)]);
await product('inactive', [active(here)], false);
await product('at a closed one', [active(closed)]);

const at = async (clinicId: string, more = '', { token }: { token: string } = partner) =>
  (await call(harness, `GET /tenants/products?clinicId=${clinicId}${more}`, { token })).body;
const namesOf = ({ data }: { data: { name: string }[] }): string[] => data.map(({ name }) => name);

describe('products available at a clinic (R-25)', () => {
  it('are those without availability entries and those with an active entry for the clinic', async () => {
    const body = await at(here);
    expect(namesOf(body)).toEqual(['anywhere', 'both', 'here', 'inactive']);
    expect(body.meta).toEqual({ total: 4, page: 1, limit: 20, totalPages: 1, hasNext: false, hasPrev: false });
    expect(namesOf(await at(there))).toEqual(['anywhere', 'both', 'no longer here, but there', 'there']);
  });

  it('are listed with all entries of clinicAvailability, including those of other clinics', async () => {
    const [both] = (await at(here, '&search=both')).data;
    const clinics = both.clinicAvailability.map(({ clinicId }: { clinicId: string }) => clinicId);
    expect(clinics.sort()).toEqual([here, there].sort());
  });

  it('can be filtered and paged, and the total counts those of all pages', async () => {
    expect(namesOf(await at(here, '&isActive=true'))).toEqual(['anywhere', 'both', 'here']);
    expect(namesOf(await at(here, '&search=here'))).toEqual(['anywhere', 'here']);
    expect(namesOf(await at(here, '&limit=2&page=2'))).toEqual(['here', 'inactive']);
    expect((await at(here, '&limit=3')).meta).toMatchObject({ total: 4, totalPages: 2, hasNext: true });
  });

  it('are listed for an inactive clinic, too', async () => {
    expect(namesOf(await at(closed))).toEqual(['anywhere', 'at a closed one']);
  });

  it('are listed to a limited client for its own clinics, whose ids may have either case, and for no other clinic', async () => {
    const limited = await newClient(harness, partner.tenantId, ['read:product'], [here]);
    expect(namesOf(await at(there, '', limited))).toEqual([]);
    for (const id of [here, here.toUpperCase()]) expect(await at(id, '', limited)).toEqual(await at(here));
  });
});

describe('clinicAvailability of a product with entries for more than 50 clinics', () => {
  let many: Partner;
  let clinics: string[];
  beforeAll(async () => {
    many = await newPartner(harness);
    clinics = await Promise.all(Array.from({ length: 60 }, () => newClinic(harness, many)));
    await newProduct(harness, many, { availability: clinics.map((clinicId) => ({ clinicId, isActive: true })) });
  });

  const shown = async (query = '', { token }: { token: string } = many) => {
    const [product] = (await call(harness, `GET /tenants/products${query}`, { token })).body.data;
    const entries: { clinicId: string }[] = product.clinicAvailability;
    return { total: product.clinicAvailabilityTotal, clinics: entries.map(({ clinicId }) => clinicId) };
  };

  it('shows 50 entries and the total', async () => {
    const { total, clinics: some } = await shown();
    expect(total).toBe(60);
    expect(new Set(some).size).toBe(50);
  });

  it('shows all entries when the product is retrieved by its id', async () => {
    const [{ id }] = (await call(harness, 'GET /tenants/products', { token: many.token })).body.data;
    const { body } = await call(harness, `GET /tenants/products/${id}`, { token: many.token });
    const entries: { clinicId: string }[] = body.clinicAvailability;
    expect(entries.map(({ clinicId }) => clinicId).sort()).toEqual([...clinics].sort());
    expect(body.clinicAvailabilityTotal).toBe(60);
  });

  it('begins with the clinics that the client is limited to', async () => {
    const own = (await hidden(2)).sort();
    const limited = await newClient(harness, many.tenantId, ['read:product'], own);
    const { total, clinics: some } = await shown('', limited);
    expect(total).toBe(60);
    expect(some.slice(0, 2).sort()).toEqual(own);
    expect(some).toHaveLength(50);
  });

  it('begins with the clinic of the filter clinicId', async () => {
    const [wanted = ''] = await hidden(1);
    for (const id of [wanted, wanted.toUpperCase()]) {
      expect((await shown(`?clinicId=${id}`)).clinics[0]).toBe(wanted);
    }
  });

  /** Clinics whose entries are not among the 50. */
  async function hidden(count: number): Promise<string[]> {
    const { clinics: some } = await shown();
    return clinics.filter((id) => !some.includes(id)).slice(0, count);
  }
});
