import { cast } from '../support/cast.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsAbout } from '../support/orders.js';
import { expectProblem, withoutTable } from '../support/refusals.js';
import { newSandbox, reset, setClock, simulate } from '../support/sandbox.js';
import { recordOf } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newSandbox(harness);
beforeEach(async () => {
  expect((await reset(harness, partner)).status).toBe(204);
});

type Body = Answer['body'];
const { scheduled, waiting, claimed, completed } = cast.encounters;
const play = (
  { encounter_id }: { encounter_id: number },
  outcome: string,
  more: object = {},
  owner: { readonly token: string | undefined } = partner,
): Promise<Answer> => simulate(harness, owner, encounter_id, { outcome, ...more });
const stored = async ({ encounter_id }: { encounter_id: number }): Promise<Body> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body);
/** The event types of an encounter; of a waiting or claimed one, without those of the reset. */
const since = async ({ encounter_id }: { encounter_id: number }): Promise<string[]> => {
  const types = (await eventsAbout(harness, partner, { encounter_id })).map(({ type }) => type);
  return types.slice(encounter_id === claimed.encounter_id ? 2 : 1);
};
const itemsOf = ({ gfe_data }: Body): [string, string | null][] =>
  gfe_data.map(({ status, denialReason }: Body) => [status, denialReason]);

/** Moves the clock to 15 minutes before the visit, when the encounter can be claimed. */
const goToTheVisit = async (): Promise<void> => {
  const { scheduledAt } = await stored(scheduled);
  const seconds = (Date.parse(scheduledAt) - harness.clock.now.getTime()) / 1000 - 900;
  expect((await setClock(harness, partner, seconds)).status).toBe(200);
};

describe('simulateEncounter 200', () => {
  it('claims as the provider "sandbox" for an hour', async () => {
    const { status, headers, body } = await play(waiting, 'claim');
    const lease = new Date(harness.clock.now.getTime() + 3_600_000).toISOString();
    expect([status, body]).toEqual([200, await stored(waiting)]);
    expect(body).toMatchObject({ status: 'in_review', reviewerRef: 'sandbox', leaseExpiresAt: lease, version: 2 });
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(await since(waiting)).toEqual(['encounter.review_started']);
  });

  it.each([
    ['deny_all', 'denied', ['denied', 'denied']],
    ['approve_first', 'completed', ['approved', 'denied']],
    ['approve_all', 'completed', ['approved', 'approved']],
  ])(
    'decides with outcome %s for the holder of the claim, and the encounter is %s',
    async (outcome, status, decisions) => {
      const { body } = await play(claimed, outcome);
      expect(body).toMatchObject({ status, reviewerRef: cast.reviewerRef, leaseExpiresAt: null });
      expect(itemsOf(body).map(([decision]) => decision)).toEqual(decisions);
      for (const [decision, reason] of itemsOf(body)) {
        expect(reason).toBe(decision === 'denied' ? 'Denied in the sandbox.' : null);
      }
      expect(body.order_no === null).toBe(status === 'denied');
    },
  );

  it('takes over a claim that has expired, even if no sweep has run', async () => {
    const { now } = harness.clock;
    harness.clock.advance(4 * 3600);
    expect((await stored(claimed)).status).toBe('in_review');
    const { body } = await play(claimed, 'approve_all');
    expect(body).toMatchObject({ status: 'completed', reviewerRef: 'sandbox' });
    expect((await since(claimed)).slice(0, 2)).toEqual(['encounter.released', 'encounter.review_started']);
    harness.clock.now = now;
  });

  it('approves a synchronous encounter 15 minutes before its visit, and records a visit', async () => {
    await goToTheVisit();
    const { body } = await play(scheduled, 'approve_all');
    expect(body.status).toBe('completed');
    const where = { tenantId_id: { tenantId: partner.tenantId, id: body.id } };
    const row = await harness.domain.db.prisma.encounter.findUnique({ where });
    expect(row?.visitStartedAt?.toISOString()).toBe(body.completedAt);
    expect(row?.visitEndedAt).toEqual(row?.visitStartedAt);
  });

  it.each([
    ['waiting', waiting],
    ['claimed', claimed],
  ])('cancels a %s encounter as a no-show', async (_what, encounter) => {
    const { body } = await play(encounter, 'no_show');
    expect(body).toMatchObject({ status: 'cancelled', cancelReason: 'patient_no_show', leaseExpiresAt: null });
    expect(new Set(itemsOf(body).map(([status]) => status))).toEqual(new Set(['cancelled']));
    expect(await since(encounter)).toEqual(['encounter.cancelled']);
  });

  it('expires an encounter before its deadline', async () => {
    const { body } = await play(scheduled, 'expire');
    expect(body).toMatchObject({ status: 'expired', order_no: null });
    expect(await since(scheduled)).toEqual(['encounter.expired']);
  });

  it('revokes the approved items', async () => {
    const { body } = await play(completed, 'revoke');
    expect(body).toMatchObject({ status: 'completed' });
    expect(itemsOf(body).map(([status]) => status)).toEqual(expect.arrayContaining(['revoked']));
    expect(itemsOf(body).map(([status]) => status)).not.toContain('approved');
    expect((await since(completed)).slice(-3)).toEqual(['gfe.revoked', 'gfe.revoked', 'order.held']);
  });
});

describe('simulateEncounter 409', () => {
  it('refuses to revoke when no item is approved any longer, and leaves the encounter unchanged', async () => {
    await play(completed, 'revoke');
    const before = await stored(completed);
    const answer = await play(completed, 'revoke');
    expectProblem(answer, 409, 'invalid_state');
    expect(answer.body).toMatchObject({ current_status: 'completed', detail: 'No item of the encounter is approved.' });
    expect(await stored(completed)).toEqual(before);
  });
});

describe('simulateEncounter 500', () => {
  it('rolls back the review when the payment cannot be written', async () => {
    const before = await stored(waiting);
    const answer = await withoutTable(harness, 'payment', () => play(waiting, 'approve_all', { pay: true }));
    expectProblem(answer, 500, 'internal_error');
    expect(await stored(waiting)).toEqual(before);
    expect(await since(waiting)).toEqual([]);
  });
});
