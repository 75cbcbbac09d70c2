import { expectProblem, expectSuccess, listOf } from './consumer.js';
import { newPatient, nobody, type Session } from './session.js';
import { orderDetails, statusView, upload } from './shapes.js';

/** What it is all for: an encounter with its documents, and its status. */
export function encounterSteps(session: Session): void {
  const { call, found, hasDocument, hasOrder } = session;
  const encounter = (changes: object = {}): object => ({
    clinicId: found.clinicId,
    patientId: found.patientId,
    treatmentIds: [found.treatmentId],
    reviewType: 'asynchronous',
    serviceQueue: 'provider_network',
    ...changes,
  });

  describe('uploads a document', () => {
    const path = (id: string, type: string): string => `POST /clients-documents/${id}/upload-url/${type}`;

    (hasDocument ? it : it.skip)('by its URL', async () => {
      const answer = await call(path(found.patientId, 'intake-forms'), { json: { url: session.target.documentUrl } });
      expectSuccess(answer, 200);
      expect(answer.body).toEqual(upload);
      const { documentId, fileUrl, userDocument } = answer.body;
      expect(userDocument).toMatchObject({
        id: documentId,
        user_id: found.patientId,
        clientId: found.patientId,
        fileUrl,
        docType: 'intake-forms',
        contentType: 'application/pdf',
      });
      found.documentId = documentId;
    });

    it.each<[string, string, number, string]>([
      ['a patient that is not there', nobody, 401, 'patient_access_denied'],
      ['an id that is none', 'not-an-id', 400, 'validation_failed'],
    ])('is refused with %s', async (_what, id, status, code) => {
      const answer = await call(path(id, 'id-card'), {
        json: { url: 'https://files.example/card.png' },
        prefer: [status, code],
      });
      expectProblem(answer, status, code);
    });

    it.each<[string, string, string]>([
      ['a URL that is none', 'card.png', 'document_url_invalid'],
      ['a URL that is not public', 'https://127.0.0.1/card.png', 'document_url_forbidden'],
      ['a URL that is not https', 'http://files.example/card.png', 'document_url_forbidden'],
    ])('is refused with %s', async (_what, url, code) => {
      expectProblem(await call(path(found.patientId, 'id-card'), { json: { url }, prefer: [400, code] }), 400, code);
    });

    it('is refused as a type of document that is not known', async () => {
      const answer = await call(path(found.patientId, 'selfies'), { json: { url: 'https://files.example/me.png' } });
      expectProblem(answer, 400, 'validation_failed');
    });
  });

  describe('creates an encounter', () => {
    it('and reads it at its address, and its status by both its numbers', async () => {
      const documentIds = hasDocument ? [found.documentId] : [];
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

    (hasOrder ? it : it.skip)('and once it is completed, sees its order by the order number', async () => {
      const answer = await call('POST /encounters/status', {
        json: { order_no: session.target.orderNo },
        prefer: [200, 'approved'],
      });
      expectSuccess(answer, 200);
      expect(answer.body).toEqual({
        ...statusView,
        order_details: { ...orderDetails, order_no: session.target.orderNo },
      });
    });

    it.each<[string, object, number, string]>([
      ['a clinic that is not there', { clinicId: nobody }, 404, 'clinic_not_found'],
      ['a patient that is not there', { patientId: nobody }, 404, 'patient_not_found'],
      ['a treatment that is not there', { treatmentIds: [nobody] }, 404, 'treatment_not_found'],
      ['a document that is not there', { documentIds: [nobody] }, 404, 'document_not_found'],
      ['no treatment', { treatmentIds: [] }, 400, 'validation_failed'],
      ['another queue', { serviceQueue: 'own' }, 400, 'validation_failed'],
      ['an unknown field', { documentId: nobody }, 400, 'validation_failed'],
      ['a time without a day', { scheduledTime: '14:30:00' }, 400, 'schedule_incomplete'],
      [
        'an offset as a time zone',
        { scheduledDay: '2030-12-02', scheduledTimeZone: '+05:30' },
        400,
        'schedule_time_zone_unknown',
      ],
    ])('is refused with %s', async (_what, change, status, code) => {
      expectProblem(await call('POST /encounters', { json: encounter(change), prefer: [status, code] }), status, code);
    });

    (hasDocument ? it : it.skip)('is refused with a document of another patient', async () => {
      const {
        body: { user_id: patientId },
      } = await call('POST /clients', { json: newPatient() });
      const json = encounter({ patientId, documentIds: [found.documentId] });
      const answer = await call('POST /encounters', { json, prefer: [409, 'document_patient_mismatch'] });
      expectProblem(answer, 409, 'document_patient_mismatch');
    });

    it.each<[string, object, number, string]>([
      ['no identifier', {}, 400, 'identifier_required'],
      ['a text as its number', { encounter_id: '5' }, 400, 'validation_failed'],
      ['a malformed number', { gfe_no: '5' }, 400, 'validation_failed'],
      ['a number that nobody has', { encounter_id: 999_999_999 }, 404, 'encounter_not_found'],
      ['a GFE number that nobody has', { gfe_no: 'GFE-999999999' }, 404, 'encounter_not_found'],
      ['an order number that nobody has', { order_no: 'ORD-999999999' }, 404, 'encounter_not_found'],
    ])('asks in vain for the status with %s', async (_what, json, status, code) => {
      expectProblem(await call('POST /encounters/status', { json, prefer: [status, code] }), status, code);
    });

    it('asks in vain for a record that is not there', async () => {
      expectProblem(
        await call('GET /encounters/999999999', { prefer: [404, 'encounter_not_found'] }),
        404,
        'encounter_not_found',
      );
      expectProblem(await call('GET /encounters/first'), 400, 'validation_failed');
    });
  });
}
