import { newDocument, newPartner, newPatient } from '../support/factories.js';
import { call, type Answer } from '../support/http.js';
import { openHarness } from '../support/harness.js';
import { ownStatementsOf } from '../support/statements.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const list = (patientId: string): Promise<Answer> => call(harness, `GET /clients/${patientId}/documents`, partner);
const ids = ({ body }: Answer): string[] =>
  body.data.map(({ documentId }: { readonly documentId: string }) => documentId);

/** A patient with three documents, of which two have the same time; the ids are in the order of the list. */
async function patientWithThree(): Promise<{ readonly patientId: string; readonly wanted: readonly string[] }> {
  const patientId = await newPatient(harness, partner);
  const oldest = await newDocument(harness, partner, patientId);
  harness.clock.advance(60);
  const later = [await newDocument(harness, partner, patientId), await newDocument(harness, partner, patientId)];
  return { patientId, wanted: [...later.sort().reverse(), oldest] };
}

describe('listPatientDocuments 200', () => {
  it('lists the documents of a patient without links, the newest first', async () => {
    const { patientId, wanted } = await patientWithThree();
    await newDocument(harness, partner, await newPatient(harness, partner));
    const all = await list(patientId);
    expect([ids(all), all.body.next_cursor, all.body.has_more]).toEqual([wanted, null, false]);
    expect(all.body.data[0]).toEqual({
      documentId: wanted[0],
      user_id: patientId,
      docType: 'lab-results',
      fileName: 'blood.pdf',
      contentType: 'application/pdf',
      sizeBytes: 1,
      createdAt: harness.clock.now.toISOString(),
      withdrawn: null,
    });
  });

  it('shows reason and time of the withdrawal of a document', async () => {
    const { patientId, wanted } = await patientWithThree();
    const options = { token: partner.token, json: { reason: 'illegible' } };
    await call(harness, `POST /documents/${wanted[1]}/withdraw`, options);
    const { body } = await list(patientId);
    const withdrawn = { reason: 'illegible', at: harness.clock.now.toISOString() };
    expect(body.data).toMatchObject([{ withdrawn: null }, { withdrawn }, { withdrawn: null }]);
  });

  it('lists three documents with two SQL statements', async () => {
    const { patientId } = await patientWithThree();
    await list(patientId);
    expect(await ownStatementsOf(() => list(patientId))).toHaveLength(2);
  });
});
