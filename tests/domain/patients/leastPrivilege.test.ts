import { permissions } from '../../../src/domain/access/permissions.js';
import {
  newClient,
  newClinic,
  newEncounter,
  newPartner,
  newPatient,
  newDocument,
  newProduct,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';
import { approve, claimedEncounter, reviewBody } from '../../support/reviews.js';
import { newSandbox, reset, simulate } from '../../support/sandbox.js';

let harness: Harness;
let partner: Partner;
let here: string;
/** Sees one clinic only. */
let limited: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  here = await newClinic(harness, partner);
  limited = await newClient(harness, partner.tenantId, permissions, [here]);
});
afterAll(() => harness.close());

const ask = (target: string, json?: unknown, { token } = limited): Promise<Answer> =>
  call(harness, target, { token, ...(json === undefined ? {} : { json }) });

/** How the limited client meets a patient, by every way that there is. */
async function waysTo(patientId: string, email: string, documentId: string): Promise<Record<string, unknown>> {
  const treatmentIds = [await newProduct(harness, partner)];
  const encounter = { clinicId: here, treatmentIds, reviewType: 'asynchronous', serviceQueue: 'provider_network' };
  const own = await newPatient(harness, limited);
  const upload = await ask(`POST /clients-documents/${patientId}/upload-url/lab-results`, {
    url: 'https://127.0.0.1/x.pdf',
  });
  const taken = await ask('POST /clients', {
    firstName: 'J',
    lastName: 'M',
    email,
    dateOfBirth: '1990-06-30',
    countryCode: '+1',
    phone: '5125550142',
  });
  return {
    getPatient: (await ask(`GET /clients/${patientId}`)).status,
    findPatients: (await ask(`GET /clients?email=${email}`)).body.data.length,
    upload: [upload.status, upload.body.code],
    preview: (await ask('POST /encounters/preview', { ...encounter, patientId })).status,
    document: (await ask('POST /encounters/preview', { ...encounter, patientId: own, documentIds: [documentId] })).body
      .code,
    taken: [taken.status, 'existing_user_id' in taken.body],
    events: (await ask('GET /events?limit=100')).body.data.filter(
      ({ data }: Answer['body']) => data.user_id === patientId,
    ).length,
  };
}

describe('a client that is limited to clinics', () => {
  const unseen = {
    getPatient: 404,
    findPatients: 0,
    upload: [401, 'patient_access_denied'],
    preview: 404,
    document: 'document_not_found',
    taken: [409, false],
    events: 0,
  };
  const seen = {
    getPatient: 200,
    findPatients: 1,
    upload: [400, 'document_url_forbidden'],
    preview: 200,
    document: undefined,
    taken: [409, true],
    events: 1,
  };
  let count = 0;
  const person = async (owner: Partner): Promise<[string, string, string]> => {
    const email = `least.${(count += 1)}@example.com`;
    const id = await newPatient(harness, owner, { email });
    return [id, email, await newDocument(harness, partner, id)];
  };

  it('does not see a patient of the tenant, nor that there is one', async () => {
    const somebody = await person(partner);
    await newEncounter(harness, partner, { patientId: somebody[0] });
    expect(await waysTo(...somebody)).toEqual(unseen);
  });

  it('sees whom it created, who has an encounter at its clinic, and whom it has stored a document of', async () => {
    const [created, visiting, documented] = [await person(limited), await person(partner), await person(partner)];
    await newEncounter(harness, partner, { patientId: visiting[0], clinicId: here });
    await newDocument(harness, limited, documented[0]);
    expect(await waysTo(...created)).toEqual(seen);
    expect(await waysTo(...visiting)).toEqual(seen);
    expect(await waysTo(...documented)).toEqual(seen);
  });

  it('learns nothing of identifiers of another clinic, also not that they disagree', async () => {
    const [there, elsewhere] = [await newEncounter(harness, partner), await newEncounter(harness, partner)];
    const own = await newEncounter(harness, partner, { clinicId: here });
    for (const json of [
      { encounter_id: there.encounter_id, gfe_no: elsewhere.gfe_no },
      { encounter_id: own.encounter_id, gfe_no: there.gfe_no },
    ]) {
      expectProblem(await ask('POST /encounters/status', json), 403, 'clinic_not_permitted');
      expectProblem(await ask('POST /encounters/status', json, partner), 400, 'identifier_mismatch');
    }
  });
});

it('a permission that was taken away ends within 30 seconds, for tokens that name it too', async () => {
  const { token, clientId, tenantId } = await newClient(harness, partner.tenantId);
  expect((await ask('GET /clinics', undefined, { ...partner, token })).status).toBe(200);
  await harness.domain.db.prisma.apiClient.updateMany({
    where: { tenantId, clientId },
    data: { permissions: ['read:client'] },
  });
  harness.clock.advance(30);
  expectProblem(await ask('GET /clinics', undefined, { ...partner, token }), 403, 'insufficient_permission');
  expect((await ask(`GET /clients?email=nobody@example.com`, undefined, { ...partner, token })).status).toBe(200);
});

describe('a claim', () => {
  it('can be gone on with by its API client only, and the review says who made it', async () => {
    const other = await newClient(harness, partner.tenantId);
    const claimed = await claimedEncounter(harness, partner);
    const { encounter_id, reviewerRef } = claimed;
    const requests: [string, object][] = [
      ['claim', { reviewerRef }],
      ['release', { reviewerRef }],
      ['review', reviewBody(claimed, approve)],
    ];
    for (const [action, json] of requests) {
      expectProblem(await ask(`POST /encounters/${encounter_id}/${action}`, json, other), 409, 'claimed_by_other');
    }
    expect((await ask(`POST /encounters/${encounter_id}/review`, reviewBody(claimed, approve), partner)).status).toBe(
      200,
    );
    const { tenantId, clientId } = partner;
    const { id } = await harness.domain.db.prisma.apiClient.findUniqueOrThrow({ where: { tenantId, clientId } });
    const where = { tenantId_encounterNo: { tenantId, encounterNo: BigInt(encounter_id) } };
    expect(await harness.domain.db.prisma.encounter.findUniqueOrThrow({ where })).toMatchObject({
      claimedById: id,
      reviewedById: id,
    });
  });

  it('is of nobody once it was released', async () => {
    const other = await newClient(harness, partner.tenantId);
    const { encounter_id, reviewerRef } = await claimedEncounter(harness, partner);
    expect((await ask(`POST /encounters/${encounter_id}/release`, { reviewerRef }, partner)).status).toBe(200);
    expect((await ask(`POST /encounters/${encounter_id}/claim`, { reviewerRef }, other)).status).toBe(200);
  });

  it('of any client of a sandbox can be simulated, and that of the fixtures gone on with', async () => {
    const sandbox = await newSandbox(harness);
    const other = await newClient(harness, sandbox.tenantId);
    const { encounter_id } = await claimedEncounter(harness, sandbox);
    expect((await simulate(harness, other, encounter_id, { outcome: 'approve_all' })).body.status).toBe('completed');
    expect((await ask('POST /encounters/100125/release', { reviewerRef: '1234567893' }, other)).status).toBe(200);
    expect((await reset(harness, sandbox)).status).toBe(204);
  });
});
