import { announceExpiredApprovals, announceExpiringApprovals } from '../../../src/domain/sweeps/approvalNotices.js';
import { newEncounter, newPartner, newProduct, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import type { Answer } from '../../support/http.js';
import { eventsAbout } from '../../support/orders.js';
import { withoutTable } from '../../support/refusals.js';
import { completedEncounter, deny, reviewed } from '../../support/reviews.js';

const DAY_MS = 24 * 3_600_000;

const harness = await openHarness();

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
    ['YEARLY', 30],
    ['MONTHLY', 5],
  ])(
    'for a %s approval record one gfe.expiring %i days before its end and one gfe.expired at its end',
    async (reviewOften, days) => {
      const { partner, encounter, end } = await approval(reviewOften);
      const before = end - days * DAY_MS;
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
    },
  );

  it('record gfe.expiring 30 days before the end of an approval whose category sets no end', async () => {
    const { partner, encounter } = await approval('ONCE', false);
    const end = Date.now() + 180 * DAY_MS;
    await harness.domain.db.prisma.gfeItem.updateMany({
      where: { tenantId: partner.tenantId, encounterId: encounter.id },
      data: { validUntil: new Date(end) },
    });
    expect(await sweepAt(partner, end - 30 * DAY_MS - 1)).toEqual([0, 0]);
    expect(await sweepAt(partner, end - 30 * DAY_MS)).toEqual([1, 0]);
  });

  it('record only gfe.expired if the first sweep runs at the end of the approval', async () => {
    const { partner, encounter, end } = await approval('YEARLY');
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await sweepAt(partner, end - 1)).toEqual([0, 0]);
    expect((await noticesOf(partner, encounter)).map(({ type }) => type)).toEqual(['gfe.expired']);
  });

  it('record the event of a failed row in the next sweep', async () => {
    const { partner, encounter, end } = await approval('YEARLY');
    await withoutTable(harness, 'event', () => expect(sweepAt(partner, end)).rejects.toThrow());
    expect(await sweepAt(partner, end)).toEqual([0, 1]);
    expect(await noticesOf(partner, encounter)).toHaveLength(1);
  });

  it('use the clock of each tenant, and process every tenant or only a given one', async () => {
    const [live, sandbox] = [await approval('MONTHLY'), await approval('MONTHLY', true, 'sandbox')];
    const { tenantId: id } = sandbox.partner;
    await harness.domain.db.prisma.tenant.updateMany({ where: { id }, data: { clockOffsetMs: DAY_MS } });
    const noticeTimes = async () =>
      (await noticesOf(sandbox.partner, sandbox.encounter)).map(({ timestamp }) => timestamp);
    const at = (moment: number) => ({ ...harness.domain, now: () => new Date(moment) });
    expect(await sweepAt(live.partner, live.end)).toEqual([0, 1]);
    expect(await noticeTimes()).toEqual([]);
    const end = sandbox.end - DAY_MS;
    expect(await announceExpiringApprovals(at(end - 1), id)).toBe(1);
    await announceExpiredApprovals(at(end - 1));
    expect(await noticeTimes()).toEqual([new Date(sandbox.end - 1)]);
    await announceExpiredApprovals(at(end));
    expect(await noticeTimes()).toEqual([new Date(sandbox.end - 1), new Date(sandbox.end)]);
  });
});

it('items without an end get no event: an unlimited approval, one by an unknown rule (R-48), a denial and a pending item', async () => {
  const unlimited = [await approval('YEARLY', false), await approval('WEEKLY', true)];
  const partner = await newPartner(harness);
  await reviewed(harness, partner, await newEncounter(harness, partner), deny);
  await newEncounter(harness, partner);
  for (const owner of [...unlimited.map((one) => one.partner), partner]) {
    expect(await sweepAt(owner, Date.parse('2999-01-01'))).toEqual([0, 0]);
  }
});
