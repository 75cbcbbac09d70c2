import { announceExpiredApprovals, announceExpiringApprovals } from '../../../src/domain/sweeps/approvalNotices.js';
import { configureTenant } from '../../../src/domain/access/tenants.js';
import { newCategory, newEncounter, newPartner, newProduct, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import type { Answer } from '../../support/http.js';
import { eventsAbout } from '../../support/orders.js';
import { withoutTable } from '../../support/refusals.js';
import { completedEncounter, deny, reviewed } from '../../support/reviews.js';

const HOUR = 3600;

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const noticesOf = (partner: Partner, { encounter_id }: Answer['body']) =>
  eventsAbout(harness, partner, { encounter_id }, 'gfe.expiring', 'gfe.expired');
const setRule = ({ tenantId }: Partner, reviewOften: string, reviewRecurring = true) =>
  harness.domain.db.prisma.category.updateMany({ where: { tenantId }, data: { reviewOften, reviewRecurring } });

/** An approval by this rule, in a new tenant. */
async function approval(reviewOften: string, reviewRecurring = true, mode: 'live' | 'sandbox' = 'live') {
  const partner = await newPartner(harness, mode);
  const treatmentIds = [await newProduct(harness, partner)];
  await setRule(partner, reviewOften, reviewRecurring);
  const encounter = await completedEncounter(harness, partner, { treatmentIds });
  return { partner, encounter, end: Date.parse(encounter.gfe_data[0].validUntil) };
}

/** Runs both sweeps over one tenant at this time. The harness clock stays, because tokens depend on it. */
async function sweepAt({ tenantId }: Partner, moment: number): Promise<[expiring: number, expired: number]> {
  const context = { ...harness.domain, now: () => new Date(moment) };
  return [await announceExpiringApprovals(context, tenantId), await announceExpiredApprovals(context, tenantId)];
}

describe('the sweeps of ending approvals', () => {
  it.each([
    ['YEARLY', 30 * 24 * HOUR],
    ['MONTHLY', 5 * 24 * HOUR],
  ])('record one gfe.expiring before the end and one gfe.expired at the end: %s', async (reviewOften, notice) => {
    const { partner, encounter, end } = await approval(reviewOften);
    const before = end - notice * 1000;
    expect(await sweepAt(partner, before - 1)).toEqual([0, 0]);
    expect(await sweepAt(partner, before)).toEqual([1, 0]);
    expect(await sweepAt(partner, end - 1)).toEqual([0, 0]);
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await sweepAt(partner, end + 1)).toEqual([0, 0]);
    const { encounter_id, gfe_no, patientId, clinicId, gfe_data } = encounter;
    const [{ categoryId, subcategoryId, validUntil }] = gfe_data;
    const data = { encounter_id, gfe_no, patientId, categoryId, subcategoryId, validUntil };
    expect(await noticesOf(partner, encounter)).toEqual([
      { type: 'gfe.expiring', clinic_id: clinicId, timestamp: new Date(before), data },
      { type: 'gfe.expired', clinic_id: clinicId, timestamp: new Date(end), data },
    ]);
  });

  it('record only gfe.expired if the first sweep runs after the end', async () => {
    const { partner, encounter, end } = await approval('YEARLY');
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await sweepAt(partner, end - 1)).toEqual([0, 0]);
    expect((await noticesOf(partner, encounter)).map(({ type }) => type)).toEqual(['gfe.expired']);
  });

  it('record events for the encounter that decided, not for those that reuse the approval', async () => {
    const { partner, encounter, end } = await approval('YEARLY');
    await configureTenant(harness.domain, partner.tenantId, { gfeReuse: true });
    const { clinicId, patientId, treatmentIds } = encounter;
    const again = await newEncounter(harness, partner, { clinicId, patientId, treatmentIds });
    expect(again.gfe_data[0]).toMatchObject({ reusedFromEncounterId: encounter.id });
    expect(await sweepAt(partner, end - 1)).toEqual([1, 0]);
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await noticesOf(partner, encounter)).toHaveLength(2);
    expect(await noticesOf(partner, again)).toEqual([]);
  });

  it('repeat a failed notice in the next sweep', async () => {
    const { partner, encounter, end } = await approval('YEARLY');
    await withoutTable(harness, 'event', () => expect(sweepAt(partner, end)).rejects.toThrow());
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await noticesOf(partner, encounter)).toHaveLength(1);
  });

  it('use the clock of a sandbox', async () => {
    const { partner, encounter, end } = await approval('MONTHLY', true, 'sandbox');
    const { db } = harness.domain;
    const realNow = harness.clock.now.getTime();
    const setAhead = (moment: number) =>
      db.prisma.tenant.update({ where: { id: partner.tenantId }, data: { clockOffsetMs: moment - realNow } });
    const sweep = () => sweepAt(partner, realNow);
    await setAhead(end - 1);
    expect(await sweep()).toEqual([1, 0]);
    await setAhead(end);
    expect(await sweep()).toEqual([0, 1]);
    const times = (await noticesOf(partner, encounter)).map(({ timestamp }) => timestamp);
    expect(times).toEqual([new Date(end - 1), new Date(end)]);
  });

  it('cover every tenant by its clock, or only the given one', async () => {
    const live = await approval('MONTHLY');
    const sandbox = await approval('MONTHLY', true, 'sandbox');
    const { db } = harness.domain;
    const day = 24 * HOUR * 1000;
    await db.prisma.tenant.update({ where: { id: sandbox.partner.tenantId }, data: { clockOffsetMs: day } });
    const at = (moment: number) => ({ ...harness.domain, now: () => new Date(moment) });
    expect(await announceExpiredApprovals(at(live.end), live.partner.tenantId)).toBe(1);
    expect(await noticesOf(sandbox.partner, sandbox.encounter)).toEqual([]);
    await announceExpiredApprovals(at(sandbox.end - day - 1));
    expect(await noticesOf(sandbox.partner, sandbox.encounter)).toEqual([]);
    await announceExpiredApprovals(at(sandbox.end - day));
    expect(await noticesOf(sandbox.partner, sandbox.encounter)).toHaveLength(1);
  });
});

describe('items without an end', () => {
  it.each([
    ['an unlimited approval', 'YEARLY', false],
    ['an approval by an unknown rule (D-03)', 'WEEKLY', true],
  ])('get no notice: %s', async (_item, reviewOften, reviewRecurring) => {
    const { partner } = await approval(reviewOften, reviewRecurring);
    expect(await sweepAt(partner, Date.parse('2999-01-01'))).toEqual([0, 0]);
  });

  it('get no notice: a denial and a pending item', async () => {
    const partner = await newPartner(harness);
    await reviewed(harness, partner, await newEncounter(harness, partner), deny);
    await newEncounter(harness, partner);
    expect(await sweepAt(partner, Date.parse('2999-01-01'))).toEqual([0, 0]);
  });
});

describe('simultaneous sweeps of ending approvals', () => {
  it('record one event for each of 120 approvals', async () => {
    const partner = await newPartner(harness);
    const { tenantId } = partner;
    const groups = await Promise.all(Array.from({ length: 20 }, () => newCategory(harness, partner)));
    const treatmentIds = await Promise.all(groups.map((group) => newProduct(harness, partner, group)));
    const encounters: Answer['body'][] = [];
    for (let count = 0; count < 6; count += 1) {
      encounters.push(await completedEncounter(harness, partner, { treatmentIds }));
    }
    const moment = Date.parse(encounters[0].gfe_data[0].validUntil);
    expect(await sweepAt(partner, moment - 1)).toEqual([120, 0]);
    const sweeps = await Promise.all(Array.from({ length: 4 }, () => sweepAt(partner, moment)));
    expect(sweeps.reduce((sum, [, expired]) => sum + expired, 0)).toBe(120);
    expect(await harness.domain.db.prisma.event.count({ where: { tenantId, type: 'gfe_expired' } })).toBe(120);
    const perEncounter = await Promise.all(encounters.map((encounter) => noticesOf(partner, encounter)));
    for (const about of perEncounter) {
      expect(new Set(about.map(({ data }) => data['categoryId'])).size).toBe(20);
    }
  });
});
