import { newPartner, newPatient, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const list = (query = '', { token }: Pick<Partner, 'token'> = partner): Promise<Answer> =>
  call(harness, `GET /reference/states${query}`, { token });

describe('listStates 200', () => {
  it('lists 56 states sorted by name, and a patient created with the id of one has that state', async () => {
    const { status, body } = await list();
    expect([status, body.data.length]).toEqual([200, 56]);
    const names = body.data.map(({ name }: { name: string }) => name);
    expect(names).toEqual([...names].sort());
    const utah = body.data.find(({ code }: { code: string }) => code === 'UT');
    const country = { countryId: expect.any(String), countryCode: 'US' };
    expect(utah).toEqual({ id: expect.any(String), code: 'UT', name: 'Utah', ...country });
    const id = await newPatient(harness, partner, { stateId: utah.id });
    const patient = await call(harness, `GET /clients/${id}`, { token: partner.token });
    expect(patient.body.state).toMatchObject({ code: 'UT', name: 'Utah' });
  });

  it('filters by country code, also in lower case', async () => {
    expect((await list('?countryCode=us')).body.data).toHaveLength(56);
    expect((await list('?countryCode=CA')).body.data).toEqual([]);
  });
});
