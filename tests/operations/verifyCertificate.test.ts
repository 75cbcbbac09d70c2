import { newClinic, newEncounter, newPartner, newToken } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter, deny, reviewed, revoked } from '../support/reviews.js';
import { atTime } from '../support/tokens.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const codeOf = ({ id }: Answer['body'], { tenantId } = partner) => `${tenantId}.${id}`;
/** Without a token. */
const verify = (code: string) => call(harness, `GET /certificates/${code}`, {});
const statusOf = async (encounter: Answer['body'], owner = partner): Promise<string> =>
  (await verify(codeOf(encounter, owner))).body.status;

describe('verifyCertificate 200', () => {
  it('returns the status of a certificate without a token, and no data of the patient', async () => {
    const clinicId = await newClinic(harness, partner, { legalName: 'Verified Clinic LLC' });
    const encounter = await completedEncounter(harness, partner, { clinicId });
    const { status, headers, body } = await verify(codeOf(encounter));
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      status: 'valid',
      gfe_no: encounter.gfe_no,
      clinic: 'Verified Clinic LLC',
      issuer: expect.any(String),
      sandbox: false,
      valid_until: encounter.gfe_data[0].validUntil,
    });
  });

  it('returns revoked or expired if no approval is in force', async () => {
    expect(await statusOf(await revoked(harness, partner, await completedEncounter(harness, partner)))).toBe('revoked');
    const ended = await completedEncounter(harness, partner);
    const { clinicId, patientId, treatmentIds } = ended;
    await reviewed(harness, partner, await newEncounter(harness, partner, { clinicId, patientId, treatmentIds }), deny);
    expect(await statusOf(ended)).toBe('revoked');
    const expired = await completedEncounter(harness, partner);
    const { validUntil } = expired.gfe_data[0];
    const { body } = await atTime(harness, partner, validUntil, () => verify(codeOf(expired)));
    expect(body).toMatchObject({ status: 'expired', valid_until: null });
  });

  it('follows the clock of a sandbox, and says that the certificate is of a sandbox', async () => {
    const sandbox = await newPartner(harness, 'sandbox');
    const encounter = await completedEncounter(harness, sandbox);
    expect((await verify(codeOf(encounter, sandbox))).body).toMatchObject({ status: 'valid', sandbox: true });
    const token = await newToken(harness, sandbox);
    const offsetSeconds = 400 * 86_400;
    expect((await call(harness, 'PUT /sandbox/clock', { token, json: { offsetSeconds } })).status).toBe(200);
    expect(await statusOf(encounter, sandbox)).toBe('expired');
  });
});

describe('verifyCertificate 404', () => {
  it('answers certificate_not_found for an id of another tenant, for an encounter that is not completed and for a denied one', async () => {
    const other = await newPartner(harness);
    const foreign = await completedEncounter(harness, other);
    const pending = await newEncounter(harness, partner);
    const denied = await reviewed(harness, partner, await newEncounter(harness, partner), deny);
    for (const code of [codeOf(foreign), codeOf(pending), codeOf(denied), codeOf({ id: harness.domain.newId() })])
      expectProblem(await verify(code), 404, 'certificate_not_found');
  });
});
