import { newClient, newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsAbout, getOrder } from '../support/orders.js';
import { completedEncounter, recordOf } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

type Encounter = Answer['body'];

const reviewerRef = '1876543219';
const keyOf = ({ categoryId, subcategoryId }: Encounter) => ({ categoryId, subcategoryId });

describe('revokeApprovals 200', () => {
  it('revokes only the named items, for another provider than the reviewer, and keeps the order pending', async () => {
    const products = [await newProduct(harness, partner), await newProduct(harness, partner)];
    const completed = await completedEncounter(harness, partner, { treatmentIds: products });
    const [first, second] = completed.gfe_data;
    harness.clock.advance(60);
    const auditor = await newClient(harness, partner.tenantId, ['review:encounter']);
    const json = { reviewerRef, items: [keyOf(second)], reason: 'Overlooked.' };
    const { encounter_id, gfe_no, patientId, order_no, clinicId } = completed;
    const sent = { token: auditor.token, json };
    const { status, headers, body } = await call(harness, `POST /encounters/${encounter_id}/revoke`, sent);
    const now = harness.clock.now.toISOString();
    const ended = { endedTreatmentIds: second.treatmentIds, validUntil: now, revocationReason: 'Overlooked.' };
    const revoked = { ...second, status: 'revoked', ...ended };
    const change = { updatedAt: now, version: Number(completed.version) + 1, gfe_data: [first, revoked] };
    expect([status, body]).toEqual([200, { ...completed, ...change }]);
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(recordOf((await call(harness, `GET /encounters/${encounter_id}`, partner)).body)).toEqual(body);
    expect((await getOrder(harness, partner, order_no)).body).toMatchObject({ order_status: 'pending' });
    const { treatmentIds } = second;
    const by = { by_encounter_id: encounter_id, order_no };
    const data = { encounter_id, gfe_no, patientId, ...keyOf(second), treatmentIds, ...by };
    expect(await eventsAbout(harness, partner, { encounter_id }, 'gfe.revoked')).toEqual([
      { type: 'gfe.revoked', clinic_id: clinicId, timestamp: harness.clock.now, data },
    ]);
    const where = { tenantId: partner.tenantId, encounterId: completed.id, position: 1 };
    const row = await harness.domain.db.prisma.gfeItem.findFirst({ where });
    expect(row).toMatchObject({ revokedBy: reviewerRef, decidedAt: new Date(second.decidedAt) });
  });
});
