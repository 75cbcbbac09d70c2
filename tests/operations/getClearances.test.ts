import { newClinic, newEncounter, newPartner, newPatient, newProduct } from '../support/factories.js';
import { call, type Answer } from '../support/http.js';
import { openHarness } from '../support/harness.js';
import { approve, completedEncounter, deny, reviewed } from '../support/reviews.js';
import { statementsOf } from '../support/statements.js';

const harness = await openHarness();
const partner = await newPartner(harness);

type Body = Answer['body'];

const ask = (patientId: string, query: Record<string, string>, token = partner.token): Promise<Answer> =>
  call(harness, `GET /clients/${patientId}/clearances?${new URLSearchParams(query).toString()}`, { token });

/** The clearance of one treatment of an encounter, the first by default. */
async function clearanceOf(encounter: Body, changes: Record<string, string> = {}): Promise<Body> {
  const { patientId, clinicId, treatmentIds } = encounter;
  const { status, body } = await ask(patientId, { clinicId, treatmentIds: treatmentIds[0], ...changes });
  expect({ status, count: body.data?.length }).toEqual({ status: 200, count: 1 });
  return body.data[0];
}

const again = ({ patientId, clinicId, treatmentIds }: Body, changes = {}): Promise<Body> =>
  newEncounter(harness, partner, { patientId, clinicId, treatmentIds, ...changes });

const today = (days: number): string =>
  new Date(harness.clock.now.getTime() + days * 24 * 3_600_000).toISOString().slice(0, 10);

describe('getClearances 200', () => {
  it('clears a patient with an approval in force, and reads decisions with one statement', async () => {
    const encounter = await completedEncounter(harness, partner);
    const [{ categoryId, subcategoryId, decidedAt, validUntil }] = encounter.gfe_data;
    let shown: Body;
    const statements = await statementsOf(async () => {
      shown = await clearanceOf(encounter);
    });
    expect(shown).toEqual({
      ...{ treatmentId: encounter.treatmentIds[0], categoryId, subcategoryId, cleared: true, reason: 'approved' },
      ...{ validUntil, encounter_id: encounter.encounter_id, gfe_no: encounter.gfe_no, decidedAt, factsChanged: false },
    });
    expect(statements.filter(({ text }) => text.includes('decided_at IS NOT NULL'))).toHaveLength(1);
  });

  it('does not name an encounter after its deadline, even if no sweep has run', async () => {
    const encounter = await newEncounter(harness, partner);
    const where = { tenantId: partner.tenantId, id: encounter.id };
    await harness.domain.db.prisma.encounter.updateMany({ where, data: { expiresAt: harness.clock.now } });
    expect(await clearanceOf(encounter)).toMatchObject({ reason: 'never_requested', encounter_id: null });
  });

  it('answers denied for a denial after an approval, at the clinic of the denial only', async () => {
    const encounter = await completedEncounter(harness, partner);
    const clinicId = await newClinic(harness, partner);
    const { encounter_id } = await reviewed(harness, partner, await again(encounter, { clinicId }), deny);
    expect(await clearanceOf(encounter)).toMatchObject({ cleared: true, reason: 'approved' });
    expect(await clearanceOf(encounter, { clinicId })).toMatchObject({ reason: 'denied', encounter_id });
    const second = await reviewed(harness, partner, await again(encounter), approve);
    expect(await clearanceOf(encounter)).toMatchObject({ cleared: true, encounter_id: second.encounter_id });
    const third = await reviewed(harness, partner, await again(encounter), deny);
    const denied = { cleared: false, reason: 'denied', encounter_id: third.encounter_id, validUntil: null };
    expect(await clearanceOf(encounter)).toMatchObject(denied);
  });

  it('sets factsChanged when facts about the patient have changed since the approval', async () => {
    const encounter = await completedEncounter(harness, partner);
    const json = { medicalHistory: 'Pregnant' };
    await call(harness, `PATCH /clients/${encounter.patientId}`, { token: partner.token, json });
    expect(await clearanceOf(encounter)).toMatchObject({ cleared: true, factsChanged: true });
  });

  it('answers for a later day with approvals that last to its end, and refuses a past day', async () => {
    const encounter = await completedEncounter(harness, partner);
    const { patientId, clinicId, treatmentIds } = encounter;
    const endDay: string = encounter.gfe_data[0].validUntil.slice(0, 10);
    expect(await clearanceOf(encounter, { at: today(1) })).toMatchObject({ cleared: true, reason: 'approved' });
    expect(await clearanceOf(encounter, { at: endDay })).toMatchObject({ cleared: false, reason: 'expired' });
    const past = await ask(patientId, { clinicId, treatmentIds: treatmentIds[0], at: today(-2) });
    const errors = [{ parameter: 'at', code: 'range', detail: expect.stringContaining('today at the clinic') }];
    expect(past).toMatchObject({ status: 400, body: { code: 'validation_failed', errors } });
  });

  it.each(['Pacific/Kiritimati', 'Pacific/Pago_Pago'])(
    'uses today by default, in the time zone of the clinic, such as %s',
    async (timezone) => {
      const clinicId = await newClinic(harness, partner, { places: [{ state: 'TX', timezone }] });
      const [patientId, treatmentIds] = [await newPatient(harness, partner), await newProduct(harness, partner)];
      const { body } = await ask(patientId, { clinicId, treatmentIds });
      const local = new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' });
      expect(body.at).toBe(local.format(harness.clock.now));
    },
  );

  it('accepts treatmentIds with commas or repeated, in any letter case, and keeps their order', async () => {
    const encounter = await completedEncounter(harness, partner);
    const ids = [await newProduct(harness, partner), encounter.treatmentIds[0], await newProduct(harness, partner)];
    const { patientId, clinicId } = encounter;
    const target = `GET /clients/${patientId}/clearances?clinicId=${clinicId}`;
    const repeated = ids.map((id) => `&treatmentIds=${id.toUpperCase()}`).join('');
    for (const query of [`&treatmentIds=${ids.join(',')}`, repeated]) {
      const { body } = await call(harness, target + query, { token: partner.token });
      expect(body.data.map(({ treatmentId }: Body) => treatmentId)).toEqual(ids);
      expect(body.data.map(({ cleared }: Body) => cleared)).toEqual([false, true, false]);
    }
  });
});
