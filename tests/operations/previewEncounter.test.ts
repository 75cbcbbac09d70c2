import { encounterBody, newClient, newClinic, newDocument, newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);
/** A valid body; the time zone of its clinic is America/Chicago. */
const valid = await encounterBody(harness, partner);

const preview = (json: unknown, { token }: { readonly token: string | undefined } = partner) =>
  call(harness, 'POST /encounters/preview', { token, json });
const create = (json: unknown, { token } = partner) => call(harness, 'POST /encounters', { token, json });

describe('previewEncounter 200', () => {
  it('returns the items and the estimate that createEncounter then returns, and scheduledAt in UTC', async () => {
    const free = { shippingType: 'FREE_SHIPPING', shippingAmount: '25.00' } as const;
    const other = await newProduct(harness, partner, { price: '299.00', ...free });
    const treatmentIds = [await newProduct(harness, partner), other];
    const json = { ...valid, treatmentIds, scheduledDay: '2027-01-05', scheduledTime: '12:00:00' };
    const { status, headers, body } = await preview(json);
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    const { body: created } = await create(json);
    const gfe_data = created.gfe_data.map((item: Record<string, unknown>) => {
      const { decidedAt: _decidedAt, denialReason: _denial, revocationReason: _revocation, ...rest } = item;
      const { declinedTreatmentIds: _declined, endedTreatmentIds: _ended, ...others } = rest;
      const { validUntil: _end, rationale: _why, ...predicted } = others;
      return predicted;
    });
    const estimate = { sub_total: '539.00', total_shipping_amt: '15.00', grand_total: '554.00', currency: 'USD' };
    const scheduledAt = '2027-01-05T18:00:00.000Z';
    expect(body).toEqual({ problems: [], estimate, scheduledAt, gfe_data, duplicates: [] });
    expect(body.estimate).toEqual(created.estimate);
  });

  it('lists open encounters that have an item of the new encounter, at clinics that the caller may see', async () => {
    const open = await create(valid);
    const { gfe_data, ...rest } = open.body;
    const [{ category_name, sub_category_name, categoryId, subcategoryId }] = gfe_data;
    const { encounter_id, gfe_no, status, clinicId, createdAt } = rest;
    const item = { category_name, sub_category_name, categoryId, subcategoryId };
    const warning = { encounter_id, gfe_no, status, clinicId, createdAt, ...item };
    expect((await preview(valid)).body).toMatchObject({ problems: [], duplicates: [warning] });
    const elsewhere = await newClinic(harness, partner);
    const limited = await newClient(harness, partner.tenantId, undefined, [elsewhere]);
    await newDocument(harness, { ...partner, ...limited }, valid.patientId);
    const json = { ...valid, clinicId: elsewhere };
    expect((await preview(json)).body.duplicates).toEqual([warning]);
    expect((await preview(json, limited)).body.duplicates).toEqual([]);
    await call(harness, `POST /encounters/${encounter_id}/cancel`, { token: partner.token, json: { reason: 'other' } });
    expect((await preview(valid)).body.duplicates).toEqual([]);
  });

  it('consumes no encounter number', async () => {
    const { body: before } = await create(valid);
    await preview(valid);
    const { body: after } = await create(valid);
    expect(after.encounter_id).toBe(Number(before.encounter_id) + 1);
  });
});
