import { permissions } from '../../src/domain/access/permissions.js';
import { newClient, newClinic, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const get = (id: string, { token } = partner) => call(harness, `GET /clinics/${id}`, { token });

describe('getClinic 200', () => {
  it('returns the clinic as the list shows it, even if it is inactive, and accepts an id in any letter case', async () => {
    const id = await newClinic(harness, partner, { isActive: false });
    const { status, body } = await get(id.toUpperCase());
    const list = await call(harness, 'GET /clinics', { token: partner.token });
    expect([status, body]).toEqual([200, list.body.data.find((clinic: { id: string }) => clinic.id === id)]);
  });
});

describe('getClinic 404', () => {
  it("answers clinic_not_found for another tenant's clinic, and for one outside of the client's limit", async () => {
    const [own, other] = [await newClinic(harness, partner), await newClinic(harness, partner)];
    const limited = await newClient(harness, partner.tenantId, permissions, [own]);
    expect((await get(own, limited)).status).toBe(200);
    expectProblem(await get(other, limited), 404, 'clinic_not_found');
    expectProblem(await get(own, await newPartner(harness)), 404, 'clinic_not_found');
  });
});
