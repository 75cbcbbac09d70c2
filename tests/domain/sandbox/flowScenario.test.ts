import { newClinic, newPartner, newProduct, patientBody, type Partner } from '../../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../../support/fileHost.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';

let files: FileHost;
let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  files = await startFileHost();
  harness = await startHarness({ environment: { DOCUMENT_FETCH_ALLOWED_HOSTS: files.host } });
  partner = await newPartner(harness);
});
afterAll(() => Promise.all([harness.close(), files.close()]));

it('a partner can go from listClinics to getEncounterStatus (scenario A)', async () => {
  const { token } = partner;
  await newClinic(harness, partner, { legalName: 'Lakeside Aesthetics, PLLC' });
  await newProduct(harness, partner, { sku: 'BTX-50' });
  const clinics = await call(harness, 'GET /clinics?search=lakeside', { token });
  const patient = await call(harness, 'POST /clients', { token, json: patientBody() });
  expect([patient.status, patient.body.isVerified]).toEqual([201, 'NOTVERIFIED']);
  const products = await call(harness, 'GET /tenants/products?search=BTX-50&isActive=true', { token });
  const url = files.serve('/blood.pdf', { content: sampleFiles.pdf });
  const target = `POST /clients-documents/${patient.body.user_id}/upload-url/lab-results`;
  const document = await call(harness, target, { token, json: { url } });
  const json = {
    clinicId: clinics.body.data[0].id,
    patientId: patient.body.user_id,
    treatmentIds: [products.body.data[0].id],
    documentIds: [document.body.documentId],
    reviewType: 'asynchronous',
    serviceQueue: 'provider_network',
  };
  const { status, body } = await call(harness, 'POST /encounters', { token, json });
  expect([status, body]).toEqual([201, expect.objectContaining({ ...json, status: 'pending_review' })]);
  const { category } = products.body.data[0];
  const view = await call(harness, 'POST /encounters/status', { token, json: { encounter_id: body.encounter_id } });
  expect(view.body).toEqual({
    encounter_id: body.encounter_id,
    gfe_no: `GFE-${body.encounter_id}`,
    gfe_data: [
      { category_name: category.categoryName, sub_category_name: expect.any(String), status: 'pending_review' },
    ],
  });
});
