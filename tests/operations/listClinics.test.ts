import { newClient, newClinic, newPartner, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const list = (query = '', { token }: { token: string | undefined } = partner) =>
  call(harness, `GET /clinics${query}`, { token });
const idsOf = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

describe('listClinics 200', () => {
  // The examples of the contract have every other property (tests/contract/examples).
  it('returns metadata and times, and the primary location first', async () => {
    const mine = await newPartner(harness);
    const { domain } = harness;
    const places = [
      { state: 'OK', timezone: null },
      { state: 'TX', timezone: 'America/Chicago' },
    ];
    const id = await newClinic(harness, mine, { places });
    const where = { tenantId: mine.tenantId };
    const times = { createdAt: '2026-01-02T03:04:05.678Z', updatedAt: '2026-02-03T04:05:06.789Z' };
    const clinic = { metadata: { region: 'south' }, ...times };
    await domain.db.prisma.clinic.updateMany({ where, data: clinic });
    await domain.db.prisma.clinicLocation.updateMany({ where, data: { isPrimary: false, isActive: false, ...times } });
    await domain.db.prisma.clinicLocation.updateMany({ where: { ...where, state: 'TX' }, data: { isPrimary: true } });
    const { body } = await list('', mine);
    const locations = [
      { state: 'TX', isPrimary: true, isActive: false, ...times },
      { state: 'OK', isPrimary: false, timezone: null },
    ];
    expect(body.data).toMatchObject([{ id, ...clinic, locations }]);
  });

  it('lists, filters and counts only the permitted clinics for a client that is limited to clinics', async () => {
    const mine = await newPartner(harness);
    const first = await newClinic(harness, mine, { legalName: 'A' });
    const second = await newClinic(harness, mine, { legalName: 'B', isActive: false });
    const hidden = await newClinic(harness, mine, { legalName: 'C' });
    const limited = await newClient(harness, mine.tenantId, ['admin:clinic'], [first, second.toUpperCase()]);
    const stats = { total: 2, active: 1, inactive: 1 };
    for (const [query, ids] of [
      ['', [first, second]],
      ['?isActive=true', [first]],
      ['?state=TX', [first, second]],
      ['?search=C', [first, second]],
      ['?limit=1&page=2', [second]],
    ] as const) {
      const { body } = await list(query, limited);
      expect(idsOf(body)).toEqual(ids);
      expect(body.stats).toEqual(stats);
    }
    expect((await list('', limited)).body.pagination.total).toBe(2);
    expect((await list('', limited)).text).not.toContain(hidden);
    expect(idsOf((await list('', mine)).body)).toEqual([first, second, hidden]);
  });

  describe('with filters', () => {
    let mine: Partner;
    const ids: Record<string, string> = {};
    const named = (body: { data: { id: string }[] }) =>
      idsOf(body)
        .map((id) => Object.keys(ids).find((name) => ids[name] === id))
        .sort();
    beforeAll(async () => {
      mine = await newPartner(harness);
      const chicago = 'America/Chicago';
      const place = (...states: string[]) => states.map((state) => ({ state, timezone: chicago }));
      ids['texas'] = await newClinic(harness, mine, { legalName: 'Lone Star, PLLC', places: place('TX') });
      const plains = { legalName: 'Plains, LLC', email: 'lone@plains.example', places: place('OK', 'TX') };
      const pine = { legalName: 'Lone Pine', isActive: false, places: place('TX', 'TX') };
      ids['both'] = await newClinic(harness, mine, plains);
      ids['closed'] = await newClinic(harness, mine, pine);
      ids['none'] = await newClinic(harness, mine, { legalName: 'Nowhere', places: [] });
      // A clinic of another tenant, which no list may show.
      await newClinic(harness, await newPartner(harness), plains);
    });

    it.each([
      ['', ['both', 'closed', 'none', 'texas']],
      ['?isActive=true', ['both', 'none', 'texas']],
      ['?isActive=false', ['closed']],
      ['?search=lone', ['both', 'closed', 'texas']],
      ['?search=PLAINS.example', ['both']],
      ['?state=TX', ['both', 'closed', 'texas']],
      ['?state=tx', ['both', 'closed', 'texas']],
      ['?state=%20Ok%20', ['both']],
      ['?state=', ['both', 'closed', 'none', 'texas']],
      ['?state=%20', ['both', 'closed', 'none', 'texas']],
      ['?state=Texas', ['both', 'closed', 'texas']],
      ['?state=%20oKLAHOMA', ['both']],
      ['?state=Texa', []],
      ['?isActive=True&sort_order=ASC&sort_by=CreatedAt&state=Oklahoma', ['both']],
      ['?state=T', []],
      ['?state=%25', []],
      ['?state=CA', []],
      ['?state=tx&isActive=true&search=lone', ['both', 'texas']],
      ['?state=ok&isActive=false', []],
    ])(
      'lists and counts the clinics of the tenant that match the query "%s", each once; stats ignore the filter',
      async (query, names) => {
        const { status, body } = await list(query, mine);
        expect(status).toBe(200);
        expect(named(body)).toEqual(names);
        expect(body.pagination.total).toBe(names.length);
        expect(body.stats).toEqual({ total: 4, active: 3, inactive: 1 });
      },
    );
  });
});
