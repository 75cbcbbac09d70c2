import { expectProblem, expectSuccess, listOf } from './consumer.js';
import { newPatient, unknownId, type Session } from './session.js';
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

    it.each<[string, { id?: string; type?: string; url?: string }, number, string]>([
      ['an unknown patient', { id: unknownId }, 401, 'patient_access_denied'],
      ['a malformed id', { id: 'not-an-id' }, 400, 'validation_failed'],
      ['a malformed URL', { url: 'card.png' }, 400, 'document_url_invalid'],
      ['a URL that is not public', { url: 'https://127.0.0.1/card.png' }, 400, 'document_url_forbidden'],
      ['a URL that is not https', { url: 'http://files.example/card.png' }, 400, 'document_url_forbidden'],
      ['an unknown document type', { type: 'selfies' }, 400, 'validation_failed'],
    ])('is refused an upload with %s', async (_fault, { id, type, url }, status, code) => {
      const json = { url: url ?? 'https://files.example/card.png' };
      // The mock finds malformed requests itself.
      const prefer = code === 'validation_failed' ? {} : { prefer: [status, code] as const };
      const answer = await call(path(id ?? ids.patientId, type ?? 'id-card'), { json, ...prefer });
      expectProblem(answer, status, code);
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

      for (const json of [{ encounter_id }, { gfe_no }, { encounter_id, gfe_no }]) {
        const answer = await call('POST /encounters/status', { json });
        expectSuccess(answer, 200);
        // Without an order there is no order_details, not even null.
        expect(answer.body).toEqual({ ...statusView, encounter_id, gfe_no });
      }
    });

    (hasOrder ? it : it.skip)('reads the order of a completed encounter by its order number', async () => {
      const { orderNo: order_no } = session.target;
      const answer = await call('POST /encounters/status', { json: { order_no }, prefer: [200, 'approved'] });
      expectSuccess(answer, 200);
      expect(answer.body).toEqual({ ...statusView, order_details: { ...orderDetails, order_no } });
    });

    const offset = { scheduledDay: '2030-12-02', scheduledTimeZone: '+05:30' };
    it.each<[string, object, number, string]>([
      ['an unknown clinic', { clinicId: unknownId }, 404, 'clinic_not_found'],
      ['an unknown patient', { patientId: unknownId }, 404, 'patient_not_found'],
      ['an unknown treatment', { treatmentIds: [unknownId] }, 404, 'treatment_not_found'],
      ['an unknown document', { documentIds: [unknownId] }, 404, 'document_not_found'],
      ['no treatment', { treatmentIds: [] }, 400, 'validation_failed'],
      ['another queue', { serviceQueue: 'own' }, 400, 'validation_failed'],
      ['an unknown field', { documentId: unknownId }, 400, 'validation_failed'],
      ['a time without a day', { scheduledTime: '14:30:00' }, 400, 'schedule_incomplete'],
      ['an offset as a time zone', offset, 400, 'schedule_time_zone_unknown'],
    ])('is refused an encounter with %s', async (_fault, change, status, code) => {
      expectProblem(await call('POST /encounters', { json: encounter(change), prefer: [status, code] }), status, code);
    });

    (hasDocument ? it : it.skip)('is refused an encounter with a document of another patient', async () => {
      const { user_id: patientId } = (await call('POST /clients', { json: newPatient() })).body;
      const json = encounter({ patientId, documentIds: [ids.documentId] });
      const answer = await call('POST /encounters', { json, prefer: [409, 'document_patient_mismatch'] });
      expectProblem(answer, 409, 'document_patient_mismatch');
    });

    it.each<[string, object, number, string]>([
      ['no identifier', {}, 400, 'identifier_required'],
      ['a text as its number', { encounter_id: '5' }, 400, 'validation_failed'],
      ['a malformed number', { gfe_no: '5' }, 400, 'validation_failed'],
      ['an unknown number', { encounter_id: 999_999_999 }, 404, 'encounter_not_found'],
      ['an unknown GFE number', { gfe_no: 'GFE-999999999' }, 404, 'encounter_not_found'],
      ['an unknown order number', { order_no: 'ORD-999999999' }, 404, 'encounter_not_found'],
    ])('is refused the status with %s', async (_fault, json, status, code) => {
      expectProblem(await call('POST /encounters/status', { json, prefer: [status, code] }), status, code);
    });

    it('gets 404 for an unknown encounter, and 400 for a malformed number', async () => {
      const answer = await call('GET /encounters/999999999', { prefer: [404, 'encounter_not_found'] });
      expectProblem(answer, 404, 'encounter_not_found');
      expectProblem(await call('GET /encounters/first'), 400, 'validation_failed');
    });
  });
}
