import {
  newCategory,
  newClient,
  newClinic,
  newEncounter,
  newPartner,
  newProduct,
  newToken,
} from '../support/factories.js';
import { call, type Answer } from '../support/http.js';
import { openHarness } from '../support/harness.js';
import { completedEncounter, deny, reviewed } from '../support/reviews.js';

const harness = await openHarness();

type Body = Answer['body'];

const list = async (token: string, query: Record<string, string> = {}): Promise<Body> => {
  const parameters = new URLSearchParams({ expiring_before: '2100-01-01', ...query });
  const { status, body } = await call(harness, `GET /renewals?${parameters.toString()}`, { token });
  expect(status).toBe(200);
  return body;
};
const numbers = ({ data }: Body): number[] => data.map(({ encounter_id }: Body) => encounter_id);

describe('listRenewals 200', () => {
  it('lists the approvals that end before a day, the first to end first', async () => {
    const partner = await newPartner(harness);
    const encounters: Body[] = [];
    const nextDay = async (): Promise<void> => {
      harness.clock.advance(24 * 3_600);
      Object.assign(partner, { token: await newToken(harness, partner) });
    };
    for (let count = 0; count < 3; count += 1) {
      encounters.push(await completedEncounter(harness, partner));
      await nextDay();
    }
    const { token } = partner;
    const wanted = encounters.map(({ encounter_id }) => encounter_id);
    const all = await list(token);
    const [{ patientId, clinicId, encounter_id, gfe_no, gfe_data }] = encounters;
    const [{ categoryId, subcategoryId, category_name, sub_category_name, decidedAt, validUntil }] = gfe_data;
    const item = { categoryId, subcategoryId, category_name, sub_category_name, decidedAt, validUntil };
    const treatments = [{ treatmentId: encounters[0].treatmentIds[0], name: expect.any(String), reason: 'approved' }];
    expect(all.data[0]).toEqual({ patientId, clinicId, encounter_id, gfe_no, ...item, treatments });
    expect([numbers(all), all.next_cursor, all.has_more]).toEqual([wanted, null, false]);
    const last = encounters[2].gfe_data[0].validUntil.slice(0, 10);
    expect(numbers(await list(token, { expiring_before: last }))).toEqual(wanted.slice(0, 2));
    expect(numbers(await list(token, { clinicId }))).toEqual([encounter_id]);
  });

  it('names the treatments that an approval still covers, with the reason that getClearances gives for each', async () => {
    const partner = await newPartner(harness);
    const { tenantId } = partner;
    const { prisma } = harness.domain.db;
    const group = await newCategory(harness, partner);
    const treatmentIds: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      treatmentIds.push(await newProduct(harness, partner, { ...group, isRx: true }));
    }
    const [, changed, inactive, deniedLater, declined] = treatmentIds as [string, string, string, string, string];
    const { patientId, clinicId, encounter_id } = await reviewed(
      harness,
      partner,
      await newEncounter(harness, partner, { treatmentIds }),
      () => ({ decision: 'approved', exceptTreatmentIds: [declined] }),
    );
    const later = { patientId, clinicId, treatmentIds: [deniedLater] };
    await reviewed(harness, partner, await newEncounter(harness, partner, later), deny);
    await prisma.productRx.updateMany({ where: { tenantId, productId: changed }, data: { rxQty: 20 } });
    await prisma.product.updateMany({ where: { tenantId, id: inactive }, data: { isActive: false } });
    const { data } = await list(partner.token);
    const reasons = ['approved', 'prescription_changed', 'not_permitted'];
    const treatments = reasons.map((reason, index) => ({ treatmentId: treatmentIds[index], reason }));
    expect(data).toMatchObject([{ encounter_id, treatments }]);
    const query = new URLSearchParams({ clinicId, treatmentIds: treatmentIds.slice(0, 3).join() }).toString();
    const { body } = await call(harness, `GET /clients/${patientId}/clearances?${query}`, partner);
    expect(body.data).toMatchObject(treatments);
  });

  it('omits an approval after a later decision about its treatments', async () => {
    const partner = await newPartner(harness);
    const first = await completedEncounter(harness, partner);
    const { patientId, clinicId, treatmentIds } = first;
    harness.clock.advance(3_600);
    const pending = await newEncounter(harness, partner, { patientId, clinicId, treatmentIds });
    expect(numbers(await list(partner.token))).toEqual([first.encounter_id]);
    const second = await reviewed(harness, partner, pending);
    expect(numbers(await list(partner.token))).toEqual([second.encounter_id]);
    await reviewed(harness, partner, await newEncounter(harness, partner, { patientId, clinicId, treatmentIds }), deny);
    expect(numbers(await list(partner.token))).toEqual([]);
  });

  it('lists an approval although there is a later one at another clinic, of another item, or of another patient', async () => {
    const partner = await newPartner(harness);
    const first = await completedEncounter(harness, partner);
    const { patientId, clinicId, treatmentIds } = first;
    harness.clock.advance(3_600);
    const others = [
      await completedEncounter(harness, partner, {
        patientId,
        treatmentIds,
        clinicId: await newClinic(harness, partner),
      }),
      await completedEncounter(harness, partner, {
        patientId,
        clinicId,
        treatmentIds: [await newProduct(harness, partner)],
      }),
      await completedEncounter(harness, partner, { clinicId, treatmentIds }),
    ];
    const wanted = [first, ...others].map(({ encounter_id }) => encounter_id);
    expect(numbers(await list(partner.token)).sort()).toEqual(wanted.sort());
  });

  it('shows a client that is limited to clinics only their approvals', async () => {
    const partner = await newPartner(harness);
    const [own, other] = [await completedEncounter(harness, partner), await completedEncounter(harness, partner)];
    const { token } = await newClient(harness, partner.tenantId, ['read:encounter'], [own.clinicId]);
    expect(numbers(await list(token))).toEqual([own.encounter_id]);
    expect(numbers(await list(token, { clinicId: other.clinicId }))).toEqual([]);
  });
});
