import { permissions } from '../../../src/domain/access/permissions.js';
import {
  newClient,
  newClinic,
  newEncounter,
  newPartner,
  newPatient,
  newDocument,
  newProduct,
  patientBody,
  type Partner,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';
import { claimedEncounter, reviewBody } from '../../support/reviews.js';
import { newSandbox, reset, simulate } from '../../support/sandbox.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const here = await newClinic(harness, partner);
/** A client that sees only one clinic. */
const limited = await newClient(harness, partner.tenantId, permissions, [here]);

const ask = (target: string, json?: unknown, { token } = limited): Promise<Answer> =>
  call(harness, target, { token, ...(json === undefined ? {} : { json }) });

/** The answers of operations by which the limited client could find the patient. */
async function answersAbout(patientId: string, email: string, documentId: string): Promise<Record<string, unknown>> {
  const treatmentIds = [await newProduct(harness, partner)];
  const encounter = { clinicId: here, treatmentIds, reviewType: 'asynchronous', serviceQueue: 'provider_network' };
  const preview = (changes: object) => ask('POST /encounters/preview', { ...encounter, ...changes });
  const own = await newPatient(harness, limited);
  const url = 'https://127.0.0.1/x.pdf';
  const upload = await ask(`POST /clients-documents/${patientId}/upload-url/lab-results`, { url });
  const duplicate = await ask('POST /clients', patientBody({ email }));
  const events: Answer['body'][] = (await ask('GET /events?limit=100')).body.data;
  return {
    getPatient: (await ask(`GET /clients/${patientId}`)).status,
    findPatients: (await ask(`GET /clients?email=${email}`)).body.data.length,
    updatePatient: (await call(harness, `PATCH /clients/${patientId}`, { token: limited.token, json: {} })).status,
    listPatientDocuments: (await ask(`GET /clients/${patientId}/documents`)).status,
    getDocument: (await ask(`GET /documents/${documentId}`)).status,
    withdrawDocument: (await ask(`POST /documents/${documentId}/withdraw`, { reason: 'illegible' })).status,
    upload: [upload.status, upload.body.code],
    preview: (await preview({ patientId })).status,
    document: (await preview({ patientId: own, documentIds: [documentId] })).body.code,
    duplicate: [duplicate.status, 'existing_user_id' in duplicate.body],
    events: events.filter(({ data }) => data.user_id === patientId).length,
  };
}

describe('a client that is limited to clinics', () => {
  const unseen = {
    ...{ getPatient: 404, findPatients: 0, upload: [401, 'patient_access_denied'], preview: 404 },
    ...{ updatePatient: 404, listPatientDocuments: 404, getDocument: 404, withdrawDocument: 404 },
    ...{ document: 'document_not_found', duplicate: [409, false], events: 0 },
  };
  const seen = {
    ...{ getPatient: 200, findPatients: 1, upload: [400, 'document_url_forbidden'], preview: 200 },
    ...{ updatePatient: 200, listPatientDocuments: 200, getDocument: 200, withdrawDocument: 200 },
    ...{ document: undefined, duplicate: [409, true], events: 1 },
  };
  let count = 0;
  const newPerson = async (owner: Partner): Promise<[string, string, string]> => {
    const email = `least.${(count += 1)}@example.com`;
    const id = await newPatient(harness, owner, { email });
    return [id, email, await newDocument(harness, partner, id)];
  };

  it('gets neither records nor the id of another patient of the tenant, only 409 for a patient with the same e-mail address', async () => {
    const stranger = await newPerson(partner);
    await newEncounter(harness, partner, { patientId: stranger[0] });
    expect(await answersAbout(...stranger)).toEqual(unseen);
  });

  it('sees each patient that it created, that has an encounter at its clinic, or whose document it uploaded', async () => {
    const [created, visiting, documented] = [
      await newPerson(limited),
      await newPerson(partner),
      await newPerson(partner),
    ];
    await newEncounter(harness, partner, { patientId: visiting[0], clinicId: here });
    await newDocument(harness, limited, documented[0]);
    for (const person of [created, visiting, documented]) expect(await answersAbout(...person)).toEqual(seen);
  });

  it('gets 403 for identifiers of encounters at other clinics, even if the identifiers contradict each other', async () => {
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

it('a revoked permission ends within 30 seconds, even for tokens that contain it', async () => {
  const { token, clientId, tenantId } = await newClient(harness, partner.tenantId);
  const get = (path: string) => call(harness, `GET ${path}`, { token });
  expect((await get('/clinics')).status).toBe(200);
  const data = { permissions: ['read:client'] };
  await harness.domain.db.prisma.apiClient.updateMany({ where: { tenantId, clientId }, data });
  harness.clock.advance(30);
  expectProblem(await get('/clinics'), 403, 'insufficient_permission');
  expect((await get('/clients?email=unknown@example.com')).status).toBe(200);
});

describe('a claim', () => {
  it('can be renewed, released and reviewed only by its API client, which the review records', async () => {
    const other = await newClient(harness, partner.tenantId);
    const claimed = await claimedEncounter(harness, partner);
    const { encounter_id, reviewerRef } = claimed;
    const review = await reviewBody(harness, partner, claimed);
    for (const [action, json] of Object.entries({ claim: { reviewerRef }, release: { reviewerRef }, review })) {
      expectProblem(await ask(`POST /encounters/${encounter_id}/${action}`, json, other), 409, 'claimed_by_other');
    }
    expect((await ask(`POST /encounters/${encounter_id}/review`, review, partner)).status).toBe(200);
    const { tenantId, clientId } = partner;
    const { id } = await harness.domain.db.prisma.apiClient.findFirstOrThrow({ where: { tenantId, clientId } });
    const where = { tenantId_encounterNo: { tenantId, encounterNo: BigInt(encounter_id) } };
    const encounter = await harness.domain.db.prisma.encounter.findUniqueOrThrow({ where });
    expect([encounter.claimedById, encounter.reviewedById]).toEqual([id, id]);
  });

  it('in a sandbox does not keep another client from simulating the review, or from releasing the claim of a fixture', async () => {
    const sandbox = await newSandbox(harness);
    const other = await newClient(harness, sandbox.tenantId);
    const { encounter_id } = await claimedEncounter(harness, sandbox);
    expect((await simulate(harness, other, encounter_id, { outcome: 'approve_all' })).body.status).toBe('completed');
    expect((await ask('POST /encounters/100125/release', { reviewerRef: '1234567893' }, other)).status).toBe(200);
    expect((await reset(harness, sandbox)).status).toBe(204);
  });
});
