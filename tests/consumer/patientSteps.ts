import { expectProblem, expectSuccess, listOf, number } from './consumer.js';
import { newPatient, unknownId, type Session } from './session.js';
import { clinic, meta, patient, patientRecord, product } from './shapes.js';

/** A clinic, a patient and a treatment. */
export function patientSteps({ call, ids }: Session): void {
  describe('clinics', () => {
    it('finds a clinic in the list and by a search', async () => {
      const list = await call('GET /clinics?isActive=true&limit=5');
      expectSuccess(list, 200);
      expect(list.body).toEqual({
        data: listOf(clinic),
        pagination: { total: number, page: number, limit: number, totalPages: number },
        stats: { total: number, active: number, inactive: number },
      });
      ids.clinicId = list.body.data[0].id;
      const search = encodeURIComponent(list.body.data[0].legalName);
      const again = await call(`GET /clinics?search=${search}&sort_by=name&sort_order=asc`);
      expect(again.body.data[0].id).toBe(ids.clinicId);
    });
  });

  describe('patients', () => {
    it('creates a patient once, gets 409 the second time, and finds the first by e-mail', async () => {
      const json = newPatient();
      const created = await call('POST /clients', { json });
      expectSuccess(created, 201);
      expect(created.body).toEqual({ ...patient, isVerified: 'NOTVERIFIED' });
      expect(created.headers.get('Cache-Control')).toBe('no-store');

      const changed = { ...json, firstName: 'Mary' };
      const again = await call('POST /clients', { json: changed, prefer: [409, 'patient_email_taken'] });
      expectProblem(again, 409, 'patient_email_taken');

      const lookup = await call(`GET /clients?email=${encodeURIComponent(json.email.toUpperCase())}`);
      expectSuccess(lookup, 200);
      expect(lookup.body).toEqual({ data: [patient], meta });
      expect(lookup.body.data[0].user_id).toBe(again.body.existing_user_id);
      ids.patientId = lookup.body.data[0].user_id;
    });

    it('reads the whole record of a patient', async () => {
      const answer = await call(`GET /clients/${ids.patientId}`);
      expectSuccess(answer, 200);
      expect(answer.body).toEqual(patientRecord);
      expect([answer.body.user_id, answer.body.adminUser.id]).toEqual([ids.patientId, ids.patientId]);
    });

    it('finds no patient by an unknown e-mail', async () => {
      const answer = await call(`GET /clients?email=${unknownId}@example.com`, { prefer: [200, 'none'] });
      expect(answer).toMatchObject({ status: 200, body: { data: [], meta: { total: 0 } } });
    });

    it('can update the birth date as getPatient shows it, but gets 400 for that form in a creation', async () => {
      const patch = (dateOfBirth: string) => call(`PATCH /clients/${ids.patientId}`, { json: { dateOfBirth } });
      const { body } = await call(`GET /clients/${ids.patientId}`);
      for (const right of [body.dateOfBirth, body.dateOfBirth.slice(0, 10)]) expectSuccess(await patch(right), 200);
      for (const wrong of ['1990-02-30', '1990-02-30T00:00:00.000Z', '1990-06-30T00:00:01.000Z', '30/06/1990']) {
        expect(await patch(wrong)).toMatchObject({ status: 400 });
      }
      const json = { ...newPatient(), dateOfBirth: body.dateOfBirth };
      expect(await call('POST /clients', { json })).toMatchObject({ status: 400 });
    });

    it('gets 400 for malformed JSON', async () => {
      expect(await call('POST /clients', { raw: '{"firstName":' })).toMatchObject({ status: 400 });
    });
  });

  describe('treatments', () => {
    it('finds a treatment in the list and by its SKU', async () => {
      const list = await call('GET /tenants/products?isActive=true&limit=100');
      expectSuccess(list, 200);
      expect(list.body).toEqual({ data: listOf(product), meta });
      const everywhere = list.body.data.find(
        (product: { clinicAvailability: unknown[] }) => product.clinicAvailability.length === 0,
      );
      ids.treatmentId = everywhere.id;
      const bySku = await call(`GET /tenants/products?search=${encodeURIComponent(everywhere.sku)}&isActive=true`);
      expect(bySku.body.data.map(({ id }: { id: string }) => id)).toContain(ids.treatmentId);
    });
  });
}
