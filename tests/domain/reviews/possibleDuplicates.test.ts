import { erasePatient } from '../../../src/domain/sweeps/erase.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import {
  newClient,
  newClinic,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
  type Partner,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { claim, claimedEncounter, deny, reviewed, reviewer } from '../../support/reviews.js';

let partner: Partner;
const harness = await openHarness();
beforeEach(async () => {
  partner = await newPartner(harness);
});

type Body = Answer['body'];

const person = (lastName: string) => ({ lastName, phone: '5550100001', dateOfBirth: '1980-02-29' });
const chartOf = async ({ encounter_id }: Body, { token } = partner): Promise<Body> =>
  (await call(harness, `GET /encounters/${encounter_id}/chart?reviewerRef=${reviewer}`, { token })).body;
const denied = async (patientId: string, changes = {}): Promise<Body> =>
  reviewed(harness, partner, await newEncounter(harness, partner, { patientId, ...changes }), deny);
const idsOf = ({ possibleDuplicates }: Body): string[] => possibleDuplicates.map(({ user_id }: Body) => user_id);

it('getChart shows patients with the same birth date and the same last name or phone number, and their denials', async () => {
  const same = person('O’Neill');
  const patientId = await newPatient(harness, partner, same);
  const both = await newPatient(harness, partner, { ...same, firstName: 'Jan' });
  const [byName, byPhone] = [
    await newPatient(harness, partner, { ...same, lastName: 'O’NEILL', phone: '5550100002' }),
    await newPatient(harness, partner, { ...same, lastName: 'Kelly' }),
  ];
  await newPatient(harness, partner, { ...same, dateOfBirth: '1980-02-28' });
  await newPatient(harness, partner, { ...same, lastName: 'Kelly', phone: '5550100002' });
  await newPatient(harness, await newPartner(harness), same);
  await reviewed(harness, partner, await newEncounter(harness, partner, { patientId: byName }));
  const { encounter_id, clinicId, gfe_data } = await denied(byPhone);
  const claimed = await claimedEncounter(harness, partner, { patientId });
  const chart = await chartOf(claimed);
  const { category_name, sub_category_name, categoryId, subcategoryId } = gfe_data[0];
  const item = { category_name, sub_category_name, categoryId, subcategoryId };
  const denials = [
    { encounter_id, clinicId, ...item, denialReason: 'Contraindicated.', decidedAt: gfe_data[0].decidedAt },
  ];
  expect(chart.possibleDuplicates).toEqual([
    { user_id: byPhone, firstName: 'Jane', lastName: 'Kelly', matches: ['phone'], denials },
    { user_id: byName, firstName: 'Jane', lastName: 'O’NEILL', matches: ['lastName'], denials: [] },
    { user_id: both, firstName: 'Jan', lastName: 'O’Neill', matches: ['lastName', 'phone'], denials: [] },
  ]);
});

it('getChart shows no erased patient as possible duplicate, even if the values that replaced the erased data match', async () => {
  const id = await newPatient(harness, partner);
  await inTransaction(harness.domain, (transaction) => erasePatient(transaction, partner.tenantId, id));
  const where = { tenantId: partner.tenantId, id };
  const { lastName, phone } = await harness.domain.db.prisma.patient.findFirstOrThrow({ where });
  const patientId = await newPatient(harness, partner, { lastName, phone, dateOfBirth: '1900-01-01' });
  expect(idsOf(await chartOf(await claimedEncounter(harness, partner, { patientId })))).toEqual([]);
});

it('getChart shows possible duplicates and their denials at other clinics to a client that is limited to a clinic, too', async () => {
  const same = person('Limited');
  const [patientId, other] = [await newPatient(harness, partner, same), await newPatient(harness, partner, same)];
  const { encounter_id } = await denied(other);
  const clinicId = await newClinic(harness, partner);
  const limited = await newClient(harness, partner.tenantId, undefined, [clinicId]);
  const claimed = await claim(harness, limited, await newEncounter(harness, partner, { patientId, clinicId }));
  expect((await call(harness, `GET /clients/${other}`, { token: limited.token })).status).toBe(404);
  const { possibleDuplicates } = await chartOf(claimed, limited);
  expect(possibleDuplicates).toMatchObject([{ user_id: other, denials: [{ encounter_id }] }]);
});

it('the audit row of getChart names each possible duplicate that the chart shows, and none if the chart is refused', async () => {
  const same = person('Audited');
  const patientId = await newPatient(harness, partner, same);
  const others = [await newPatient(harness, partner, same), await newPatient(harness, partner, same)];
  const claimed = await claimedEncounter(harness, partner, { patientId });
  const rows = () =>
    harness.domain.db.prisma.auditEvent.findMany({
      where: { tenantId: partner.tenantId, operationId: 'getChart', patientIds: { has: patientId } },
      orderBy: { position: 'asc' },
    });
  const refused = `GET /encounters/${claimed.encounter_id}/chart?reviewerRef=another`;
  expect((await call(harness, refused, { token: partner.token })).status).toBe(409);
  await chartOf(claimed);
  const [refusal, read, ...more] = await rows();
  expect([refusal?.patientIds, more]).toEqual([[patientId], []]);
  expect(read).toMatchObject({ reviewerRef: reviewer, outcome: 'success', patientIds: { length: 3 } });
  expect(read?.patientIds).toEqual(expect.arrayContaining([patientId, ...others]));
});

it('getChart shows at most 20 possible duplicates, those with the latest denials first, and sets hasMore if there are more', async () => {
  const same = person('Many');
  const claimed = await claimedEncounter(harness, partner, { patientId: await newPatient(harness, partner, same) });
  const [late, early] = [await newPatient(harness, partner, same), await newPatient(harness, partner, same)];
  await denied(early);
  harness.clock.advance(1);
  await denied(late);
  for (let count = 0; count < 18; count += 1) await newPatient(harness, partner, same);
  expect(await chartOf(claimed)).toMatchObject({ possibleDuplicates: { length: 20 }, hasMore: false });
  await newPatient(harness, partner, same);
  const chart = await chartOf(claimed);
  expect(chart).toMatchObject({ possibleDuplicates: { length: 20 }, hasMore: true });
  expect(idsOf(chart).slice(0, 2)).toEqual([late, early]);
});

it('getChart shows at most 100 denials of possible duplicates, and sets hasMore if there are more', async () => {
  const same = person('Denied');
  const claimed = await claimedEncounter(harness, partner, { patientId: await newPatient(harness, partner, same) });
  const others = [await newPatient(harness, partner, same), await newPatient(harness, partner, same)] as const;
  const treatmentIds: string[] = [];
  for (let count = 0; count < 20; count += 1) treatmentIds.push(await newProduct(harness, partner));
  const shown = async () => {
    const { possibleDuplicates, hasMore } = await chartOf(claimed);
    return [possibleDuplicates.flatMap(({ denials }: Body) => denials).length, hasMore];
  };
  for (let count = 0; count < 5; count += 1) await denied(others[count < 2 ? 0 : 1], { treatmentIds });
  expect(await shown()).toEqual([100, false]);
  await denied(others[0]);
  expect(await shown()).toEqual([100, true]);
});
