import { createApiClient } from '../../src/domain/access/apiClients.js';
import { newCategory, newPartner, newPatient, newProduct, newToken, shipTo } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter, reviewer } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { tenantId } = partner;
const { db, newId, now } = harness.domain;

const get = (orderNo: string, token = partner.token): Promise<Answer> =>
  call(harness, `GET /orders/${orderNo}/dispensing`, { token });

/** A token of a client of the preset "pharmacy", limited to this pharmacy. */
async function pharmacyToken(pharmacyId: string): Promise<string> {
  const client = await createApiClient(harness.domain, {
    tenant: tenantId,
    preset: 'pharmacy',
    pharmacies: [pharmacyId],
  });
  return newToken(harness, client);
}

/** An order with a line of each pharmacy; the first is a prescription. */
async function orderOfTwo(pharmacies: readonly [string, string], changes: object = {}) {
  const groups = [await newCategory(harness, partner), await newCategory(harness, partner)];
  const treatmentIds = await Promise.all(
    groups.map((group, index) =>
      newProduct(harness, partner, { ...group, pharmacyId: pharmacies[index] as string, isRx: index === 0 }),
    ),
  );
  return completedEncounter(harness, partner, { treatmentIds, ...changes });
}

/** Revokes the approval of the first item. */
function revoke({ encounter_id, gfe_data }: Answer['body']): Promise<Answer> {
  const [{ categoryId, subcategoryId }] = gfe_data;
  const json = { reviewerRef: reviewer, reason: 'Lab result.', items: [{ categoryId, subcategoryId }] };
  return call(harness, `POST /encounters/${encounter_id}/revoke`, { token: partner.token, json });
}

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
    const { order_no, treatmentIds, gfe_data } = await orderOfTwo([own, newId()], { patientId });
    const { status, headers, body } = await get(order_no, await pharmacyToken(own));
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
    const start = harness.clock.now;
    harness.clock.advance(2 * 24 * 3600);
    const { lines } = (await get(order_no, await newToken(harness, partner))).body;
    expect(lines[0].prescriber.license).toBe(`TX ${day}, TX 4711`);
    harness.clock.now = start;
    await db.prisma.providerLicense.deleteMany({ where: { tenantId, number: { in: [day, dayBefore] } } });
  });
});

describe('getDispensing 404', () => {
  it("answers order_not_found without a line of the caller's pharmacies", async () => {
    const { order_no } = await completedEncounter(harness, partner);
    expectProblem(await get(order_no, await pharmacyToken(newId())), 404, 'order_not_found');
  });
});

describe('getDispensing 409', () => {
  it("answers approval_ended if all lines of the caller's pharmacies are held, from the end of the approval on", async () => {
    const own = newId();
    const { order_no, gfe_data } = await orderOfTwo([own, newId()]);
    const start = harness.clock.now;
    harness.clock.now = new Date(gfe_data[0].validUntil);
    const token = await pharmacyToken(own);
    const fault = { pointer: '#/lines/0', code: 'approval_ended' };
    const both = [fault, { pointer: '#/lines/1', code: 'approval_ended' }];
    const answers = [await get(order_no, token), await get(order_no, await newToken(harness, partner))];
    harness.clock.now = start;
    answers.forEach((answer, index) => expectProblem(answer, 409, 'approval_ended', index === 0 ? [fault] : both));
  });

  it('answers ship_to_required without a complete address, unless approval_ended applies', async () => {
    const encounter = await completedEncounter(harness, partner, { shipTo: null });
    const missing = ['name', 'address1', 'city', 'state', 'postal', 'country'].map((part) => ({
      pointer: `#/shipTo/${part}`,
    }));
    expectProblem(await get(encounter.order_no), 409, 'ship_to_required', missing);
    await revoke(encounter);
    expectProblem(await get(encounter.order_no), 409, 'approval_ended');
  });
});
