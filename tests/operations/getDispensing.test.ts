import { newPartner, newPatient, shipTo } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer, type Caller } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter, orderOfTwo, reviewer, revoked } from '../support/reviews.js';
import { atTime, newPharmacyClient } from '../support/tokens.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { tenantId } = partner;
const { db, newId, now } = harness.domain;

const get = (orderNo: string, caller: Caller = partner): Promise<Answer> =>
  call(harness, `GET /orders/${orderNo}/dispensing`, caller);

const guardian = { name: 'Ann Miller', relation: 'mother', phone: '5125550143' };
const provider = { id: newId(), tenantId, reviewerRef: reviewer, npi: '1234567893', name: 'Ada Lane', isActive: true };
await db.prisma.provider.createMany({ data: { ...provider, createdAt: now(), updatedAt: now() } });
const license = { tenantId, providerId: provider.id, expiresOn: new Date('2099-12-31'), asynchronousAllowed: true };
for (const [state, number] of [
  ['TX', '4711'],
  ['AZ', '42'],
] as const) {
  await db.prisma.providerLicense.create({ data: { id: newId(), ...license, state, number } });
}

describe('getDispensing 200', () => {
  it("returns patient, address and prescription to a pharmacy's client, with its own lines only", async () => {
    const phone = '5125550142';
    const patientId = await newPatient(harness, partner, { lastName: 'Miller', phone, guardian, gender: 'female' });
    const own = newId();
    const { order_no, treatmentIds, gfe_data } = await orderOfTwo(harness, partner, 0, [own, newId()], { patientId });
    const { status, headers, body } = await get(order_no, await newPharmacyClient(harness, partner, own));
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    const person = { name: 'Jane Miller', dateOfBirth: '1990-06-30T00:00:00.000Z', sex: 'female' };
    const rest = { countryCode: '+1', guardian, isIdentityChanged: false };
    expect(body.patient).toEqual({ user_id: patientId, ...person, phone, ...rest });
    expect(body.shipTo).toEqual(shipTo);
    expect(body.lines).toHaveLength(1);
    expect(body.lines[0]).toMatchObject({
      ...{ treatmentId: treatmentIds[0], pharmacyId: own, quantity: 1, fulfilment: { status: 'pending' } },
      prescription: { refills: 2, daysSupply: 30, rxQty: 1, quantityUnit: 'Gram' },
      prescriber: { reviewerRef: reviewer, name: 'Ada Lane', npi: '1234567893', license: 'TX 4711' },
      ...{ approvedAt: gfe_data[0].decidedAt, validUntil: gfe_data[0].validUntil },
    });
  });

  it.each([
    ['last name', { lastName: 'Smith' }, true],
    ['birth date', { dateOfBirth: '1990-06-29' }, true],
    ['phone number and guardian', { phone: '5125550100', guardian: null }, false],
  ])('says whether the identity has changed since the review, after a change of the %s', async (_, json, isChanged) => {
    const patientId = await newPatient(harness, partner, { guardian });
    const { order_no } = await completedEncounter(harness, partner, { patientId });
    expect((await call(harness, `PATCH /clients/${patientId}`, { token: partner.token, json })).status).toBe(200);
    expect((await get(order_no)).body.patient.isIdentityChanged).toBe(isChanged);
  });

  it('names the licenses that were in force on the day of the approval, even after they have lapsed', async () => {
    const [day, dayBefore] = ['2026-11-20', '2026-11-19'];
    const license = { tenantId, providerId: provider.id, state: 'TX', asynchronousAllowed: true };
    const ends = [day, dayBefore].map((end) => ({ id: newId(), ...license, number: end, expiresOn: new Date(end) }));
    await db.prisma.providerLicense.createMany({ data: ends });
    const { order_no } = await completedEncounter(harness, partner);
    const { lines } = (await atTime(harness, partner, '2026-11-22', (then) => get(order_no, then))).body;
    expect(lines[0].prescriber.license).toBe(`TX ${day}, TX 4711`);
    await db.prisma.providerLicense.deleteMany({ where: { tenantId, number: { in: [day, dayBefore] } } });
  });
});

describe('getDispensing 404', () => {
  it("answers order_not_found if no line of the order is for the caller's pharmacies", async () => {
    const { order_no } = await completedEncounter(harness, partner);
    expectProblem(await get(order_no, await newPharmacyClient(harness, partner, newId())), 404, 'order_not_found');
  });
});

describe('getDispensing 409', () => {
  it("answers approval_ended once the approval of every line of the caller's pharmacies has expired", async () => {
    const own = newId();
    const { order_no, gfe_data } = await orderOfTwo(harness, partner, 0, [own, newId()]);
    const fault = { pointer: '#/lines/0', code: 'approval_ended' };
    const both = [fault, { pointer: '#/lines/1', code: 'approval_ended' }];
    const answers = await atTime(harness, partner, gfe_data[0].validUntil, async (then) => [
      await get(order_no, await newPharmacyClient(harness, partner, own)),
      await get(order_no, then),
    ]);
    answers.forEach((answer, index) => expectProblem(answer, 409, 'approval_ended', index === 0 ? [fault] : both));
  });

  it('answers ship_to_required without a complete address, unless approval_ended applies', async () => {
    const encounter = await completedEncounter(harness, partner, { shipTo: null });
    const missing = ['name', 'address1', 'city', 'state', 'postal', 'country'].map((part) => ({
      pointer: `#/shipTo/${part}`,
    }));
    expectProblem(await get(encounter.order_no), 409, 'ship_to_required', missing);
    await revoked(harness, partner, encounter);
    expectProblem(await get(encounter.order_no), 409, 'approval_ended');
  });
});
