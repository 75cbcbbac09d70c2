import { newCategory, newDocument, newEncounter, newPartner, newPatient, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { getOrder } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter, eventsOf, recordOf, reviewed } from '../support/reviews.js';

type Encounter = Answer['body'];

const harness = await openHarness();
const partner = await newPartner(harness);
const { prisma } = harness.domain.db;

const patch = ({ encounter_id }: Encounter, json: unknown, options: CallOptions = {}): Promise<Answer> =>
  call(harness, `PATCH /encounters/${encounter_id}`, { token: partner.token, json, ...options });
const get = ({ encounter_id }: Encounter, { token } = partner): Promise<Answer> =>
  call(harness, `GET /encounters/${encounter_id}`, { token });
const stored = async (encounter: Encounter): Promise<Encounter> => recordOf((await get(encounter)).body);
const updates = async (encounter: Encounter): Promise<unknown[]> =>
  (await eventsOf(harness, encounter)).flatMap(([type, data]) => (type === 'encounter.updated' ? [data] : []));

describe('updateEncounter 200', () => {
  it('changes the reference, merges metadata, and names both in encounter.updated', async () => {
    const encounter = await completedEncounter(harness, partner);
    const { encounter_id, gfe_no, version } = encounter;
    const sent = { reference: 'APPT-1', metadata: { room: '4', kind: 'first' } };
    const { status, body, headers } = await patch(encounter, sent);
    expect(status).toBe(200);
    expect(body).toEqual({ ...encounter, ...sent, version: Number(version) + 1, updatedAt: expect.any(String) });
    expect(await stored(encounter)).toEqual(body);
    expect((await get(encounter)).headers.get('ETag')?.split('.')).toEqual([
      headers.get('ETag')?.slice(0, -1),
      expect.any(String),
    ]);
    const merged = await patch(encounter, { reference: null, metadata: { room: null } });
    expect(merged.body).toMatchObject({ reference: null, metadata: { kind: 'first' }, version: Number(version) + 2 });
    const named = { encounter_id, gfe_no, changed: ['reference', 'metadata'] };
    expect(await updates(encounter)).toEqual([{ ...named, reference: 'APPT-1' }, named]);
  });

  it('recalculates items and estimate at current prices when treatments change, as the order then shows', async () => {
    const group = await newCategory(harness, partner);
    const [kept, added, rx] = [
      await newProduct(harness, partner, { price: '10.00', shippingType: 'FREE_SHIPPING', shippingAmount: '0.00' }),
      await newProduct(harness, partner, { ...group, price: '7.00', shippingAmount: '2.00' }),
      await newProduct(harness, partner, { ...group, isRx: true, price: '1.00', shippingAmount: '0.50' }),
    ];
    const document = { patientId: await newPatient(harness, partner) };
    const documentIds = [await newDocument(harness, partner, document.patientId)];
    const created = { ...document, documentIds, treatmentIds: [kept], additionalNotes: 'x' };
    const encounter = await newEncounter(harness, partner, created);
    const offer = { where: { tenantId: partner.tenantId, productId: kept }, data: { price: '11.00' } };
    await prisma.productOffer.updateMany(offer);
    harness.clock.advance(60);
    const treatmentIds = [added, kept, rx];
    const { status, body } = await patch(encounter, { treatmentIds, reference: 'B' });
    expect(status).toBe(200);
    const [item] = encounter.gfe_data;
    const ofGroup = { ...group, treatmentIds: [added, rx], status: 'pending_review' };
    const { gfe_data, ...rest } = body;
    expect(gfe_data).toEqual([expect.objectContaining(ofGroup), item]);
    expect({ ...rest, gfe_data: [item] }).toEqual({
      ...{ ...encounter, treatmentIds, reference: 'B', version: 2, updatedAt: harness.clock.now.toISOString() },
      estimate: { sub_total: '19.00', total_shipping_amt: '2.50', grand_total: '21.50', currency: 'USD' },
    });
    expect(await stored(encounter)).toEqual(body);
    expect((await updates(encounter)).at(-1)).toMatchObject({ reference: 'B', changed: ['treatmentIds', 'reference'] });
    const completed = await reviewed(harness, partner, encounter);
    const { lines, grand_total } = (await getOrder(harness, partner, completed.order_no)).body;
    expect([lines.map(({ treatmentId }: Encounter) => treatmentId), grand_total]).toEqual([treatmentIds, '21.50']);
  });
});

describe('updateEncounter 412', () => {
  it('refuses a version that is not the current one, before it validates the change', async () => {
    const encounter = await completedEncounter(harness, partner);
    for (const json of [{ reference: 'x' }, { reviewType: 'synchronous' }])
      expectProblem(await patch(encounter, json, { headers: { 'If-Match': '"1"' } }), 412, 'version_conflict');
    expect(await stored(encounter)).toEqual(encounter);
  });
});
