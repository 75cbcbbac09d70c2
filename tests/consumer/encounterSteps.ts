import { expectProblem, expectSuccess, listOf } from './consumer.js';
import { newPatient, type Session } from './session.js';
import { orderDetails, statusView, upload } from './shapes.js';

/** Documents, encounters and their status. */
export function encounterSteps(session: Session): void {
  const { call, ids, hasDocument, hasOrder } = session;
  const encounter = (changes: object = {}): object => ({
    clinicId: ids.clinicId,
    patientId: ids.patientId,
    treatmentIds: [ids.treatmentId],
    reviewType: 'asynchronous',
    serviceQueue: 'provider_network',
    ...changes,
  });

  describe('documents', () => {
    const path = (id: string, type: string): string => `POST /clients-documents/${id}/upload-url/${type}`;

    (hasDocument ? it : it.skip)('uploads a document by its URL', async () => {
      const answer = await call(path(ids.patientId, 'intake-forms'), { json: { url: session.target.documentUrl } });
      expectSuccess(answer, 200);
      expect(answer.body).toEqual(upload);
      const { documentId, fileUrl, userDocument } = answer.body;
      const owner = { user_id: ids.patientId, clientId: ids.patientId };
      const file = { fileUrl, docType: 'intake-forms', contentType: 'application/pdf' };
      expect(userDocument).toMatchObject({ id: documentId, ...owner, ...file });
      ids.documentId = documentId;
    });
  });

  describe('encounters', () => {
    it('creates an encounter, reads it at its Location, and reads its status by both numbers', async () => {
      const documentIds = hasDocument ? [ids.documentId] : [];
      const schedule = { scheduledDay: '2030-12-02', scheduledTime: '14:30:00', scheduledTimeZone: 'America/Chicago' };
      const created = await call('POST /encounters', { json: encounter({ documentIds, ...schedule }) });
      expectSuccess(created, 201);
      const { encounter_id, gfe_no, status, gfe_data } = created.body;
      expect({ status, gfe_no, gfe_data }).toEqual({
        status: 'pending_review',
        gfe_no: `GFE-${encounter_id}`,
        gfe_data: listOf(expect.objectContaining({ status: 'pending_review' })),
      });
      expect(created.headers.get('Location')).toBe(`/encounters/${encounter_id}`);

      const record = await call(`GET ${created.headers.get('Location')}`);
      expectSuccess(record, 200);
      expect(record.body).toMatchObject(created.body);
      for (const named of [gfe_no, gfe_no.toLowerCase()]) {
        expect((await call(`GET /encounters/${named}`)).body.encounter_id).toBe(encounter_id);
      }

      for (const json of [{ encounter_id }, { gfe_no }, { encounter_id, gfe_no }]) {
        const answer = await call('POST /encounters/status', { json });
        expectSuccess(answer, 200);
        // Without an order there is no order_details, not even null.
        expect(answer.body).toEqual({ ...statusView, encounter_id, gfe_no });
      }
      expectProblem(await call('POST /encounters/status', { json: {} }), 400, 'identifier_required');
    });

    (hasOrder ? it : it.skip)('reads the order of a completed encounter by its order number', async () => {
      const { orderNo: order_no } = session.target;
      const answer = await call('POST /encounters/status', { json: { order_no }, prefer: [200, 'approved'] });
      expectSuccess(answer, 200);
      expect(answer.body).toEqual({ ...statusView, order_details: { ...orderDetails, order_no } });
    });

    (hasDocument ? it : it.skip)('gets 409 for an encounter with a document of another patient', async () => {
      const { user_id: patientId } = (await call('POST /clients', { json: newPatient() })).body;
      const json = encounter({ patientId, documentIds: [ids.documentId] });
      const answer = await call('POST /encounters', { json, prefer: [409, 'document_patient_mismatch'] });
      expectProblem(answer, 409, 'document_patient_mismatch');
    });
  });
}
