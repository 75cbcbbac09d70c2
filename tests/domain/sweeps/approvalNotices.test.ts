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

const told = (partner: Partner, { encounter_id }: Answer['body']) =>
  eventsAbout(harness, partner, { encounter_id }, 'gfe.expiring', 'gfe.expired');
const setRule = ({ tenantId }: Partner, reviewOften: string, reviewRecurring = true) =>
  harness.domain.db.prisma.category.updateMany({ where: { tenantId }, data: { reviewOften, reviewRecurring } });

/** An approval of a tenant of its own, by this rule. */
async function approval(reviewOften: string, reviewRecurring = true, mode: 'live' | 'sandbox' = 'live') {
  const partner = await newPartner(harness, mode);
  const treatmentIds = [await newProduct(harness, partner)];
  await setRule(partner, reviewOften, reviewRecurring);
  const encounter = await completedEncounter(harness, partner, { treatmentIds });
  return { partner, encounter, end: Date.parse(encounter.gfe_data[0].validUntil) };
}

/** Both sweeps over one tenant at a moment; the time of tests is that of tokens, too, so it goes back. */
async function sweepAt({ tenantId }: Partner, moment: number): Promise<[expiring: number, expired: number]> {
  const context = { ...harness.domain, now: () => new Date(moment) };
  return [await announceExpiringApprovals(context, tenantId), await announceExpiredApprovals(context, tenantId)];
}

describe('an approval that ends is told of', () => {
  it.each([
    ['YEARLY', 30 * 24 * HOUR],
    ['MONTHLY', 5 * 24 * HOUR],
  ])('once before, and once at its end: %s', async (reviewOften, notice) => {
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
    expect(await told(partner, encounter)).toEqual([
      { type: 'gfe.expiring', clinic_id: clinicId, timestamp: new Date(before), data },
      { type: 'gfe.expired', clinic_id: clinicId, timestamp: new Date(end), data },
    ]);
  });

  it('only at its end when nobody looked before', async () => {
    const { partner, encounter, end } = await approval('YEARLY');
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await sweepAt(partner, end - 1)).toEqual([0, 0]);
    expect((await told(partner, encounter)).map(({ type }) => type)).toEqual(['gfe.expired']);
  });

  it('for the encounter that decided, not for those that took it over', async () => {
    const { partner, encounter, end } = await approval('YEARLY');
    await configureTenant(harness.domain, partner.tenantId, { gfeReuse: true });
    const { clinicId, patientId, treatmentIds } = encounter;
    const again = await newEncounter(harness, partner, { clinicId, patientId, treatmentIds });
    expect(again.gfe_data[0]).toMatchObject({ reusedFromEncounterId: encounter.id });
    expect(await sweepAt(partner, end - 1)).toEqual([1, 0]);
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await told(partner, encounter)).toHaveLength(2);
    expect(await told(partner, again)).toEqual([]);
  });

  it('or not at all, when telling fails: then the next sweep does', async () => {
    const { partner, encounter, end } = await approval('YEARLY');
    await withoutTable(harness, 'event', () => expect(sweepAt(partner, end)).rejects.toThrow());
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await told(partner, encounter)).toHaveLength(1);
  });

  it('by the clock of its tenant, a sandbox as well', async () => {
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
    const times = (await told(partner, encounter)).map(({ timestamp }) => timestamp);
    expect(times).toEqual([new Date(end - 1), new Date(end)]);
  });

  it('in every tenant, whatever its clock; and only in one, if so asked', async () => {
    const live = await approval('MONTHLY');
    const sandbox = await approval('MONTHLY', true, 'sandbox');
    const { db } = harness.domain;
    const day = 24 * HOUR * 1000;
    await db.prisma.tenant.update({ where: { id: sandbox.partner.tenantId }, data: { clockOffsetMs: day } });
    const at = (moment: number) => ({ ...harness.domain, now: () => new Date(moment) });
    expect(await announceExpiredApprovals(at(live.end), live.partner.tenantId)).toBe(1);
    expect(await told(sandbox.partner, sandbox.encounter)).toEqual([]);
    await announceExpiredApprovals(at(sandbox.end - day - 1));
    expect(await told(sandbox.partner, sandbox.encounter)).toEqual([]);
    await announceExpiredApprovals(at(sandbox.end - day));
    expect(await told(sandbox.partner, sandbox.encounter)).toHaveLength(1);
  });
});

describe('nothing is told of', () => {
  it.each([
    ['an approval for good', 'YEARLY', false],
    ['an approval whose rule is not understood (D-03)', 'WEEKLY', true],
  ])('%s', async (_what, reviewOften, reviewRecurring) => {
    const { partner } = await approval(reviewOften, reviewRecurring);
    expect(await sweepAt(partner, Date.parse('2999-01-01'))).toEqual([0, 0]);
  });

  it('a denial, or an item that waits', async () => {
    const partner = await newPartner(harness);
    await reviewed(harness, partner, await newEncounter(harness, partner), deny);
    await newEncounter(harness, partner);
    expect(await sweepAt(partner, Date.parse('2999-01-01'))).toEqual([0, 0]);
  });
});

describe('sweeps at the same time', () => {
  it('tell of each approval once, of however many there are', async () => {
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
    const perEncounter = await Promise.all(encounters.map((encounter) => told(partner, encounter)));
    for (const about of perEncounter) {
      expect(new Set(about.map(({ data }) => data['categoryId'])).size).toBe(20);
    }
  });
});
