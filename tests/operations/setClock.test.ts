import { lapseDueClaims } from '../../src/domain/sweeps/encounterDeadlines.js';
import { cast } from '../support/cast.js';
import { copyEncounter } from '../support/copies.js';
import { type Partner } from '../support/factories.js';
import { openObservedHarness } from '../support/observedHarness.js';
import { call, type Answer } from '../support/http.js';
import { eventsAbout } from '../support/orders.js';
import { expectProblem, withoutTable } from '../support/refusals.js';
import { newSandbox, setClock } from '../support/sandbox.js';
import { recordOf } from '../support/reviews.js';

const HOUR = 3600;
const DAY = 24 * HOUR;
const TEN_YEARS = 315_576_000;

const { harness, observer } = await openObservedHarness();
const partner = await newSandbox(harness);

const { scheduled, waiting, claimed, completed } = cast.encounters;
const offset = async ({ token }: Partner = partner): Promise<number> =>
  (await call(harness, 'GET /sandbox/clock', { token })).body.offsetSeconds;
const get = async ({ encounter_id }: { encounter_id: number }, { token }: Partner): Promise<Answer['body']> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token })).body);
const events = async (owner: Partner, { encounter_id }: { encounter_id: number }): Promise<string[]> =>
  (await eventsAbout(harness, owner, { encounter_id })).map(({ type }) => type);

describe('setClock 200', () => {
  it('moves the time of the tenant only', async () => {
    const [sandbox, other] = [await newSandbox(harness), await newSandbox(harness)];
    const { status, body, headers } = await setClock(harness, sandbox, 2_678_400);
    const now = new Date(harness.clock.now.getTime() + 2_678_400_000).toISOString();
    expect([status, body]).toEqual([200, { now, offsetSeconds: 2_678_400 }]);
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect([await offset(sandbox), await offset(other)]).toEqual([2_678_400, 0]);
  });

  it('dates new records and events by the tenant’s time', async () => {
    const sandbox = await newSandbox(harness);
    await setClock(harness, sandbox, DAY);
    const ids = { clinicId: cast.clinics.austin, patientId: cast.jane.id, treatmentIds: [cast.products.botox] };
    const json = { ...ids, reviewType: 'asynchronous', serviceQueue: 'provider_network' };
    const { body } = await call(harness, 'POST /encounters', { token: sandbox.token, json });
    expect(body).toMatchObject({ createdAt: '2026-11-21T16:00:00.000Z', expiresAt: '2026-12-21T16:00:00.000Z' });
    const { encounter_id } = body;
    expect(await eventsAbout(harness, sandbox, { encounter_id })).toMatchObject([
      { type: 'encounter.created', timestamp: new Date('2026-11-21T16:00:00.000Z') },
    ]);
  });

  it('ends claims, expires encounters and approvals and holds order lines before it responds, with one event each', async () => {
    const sandbox = await newSandbox(harness);
    await setClock(harness, sandbox, 4 * HOUR);
    expect(await get(claimed, sandbox)).toMatchObject({ status: 'pending_review', reviewerRef: null });
    expect((await events(sandbox, claimed)).at(-1)).toBe('encounter.released');
    await setClock(harness, sandbox, 20 * DAY);
    expect((await get(waiting, sandbox)).status).toBe('pending_review');
    expect((await events(sandbox, completed)).slice(-1)).toEqual(['gfe.expiring']);
    await setClock(harness, sandbox, 30 * DAY);
    for (const encounter of [waiting, claimed]) expect((await get(encounter, sandbox)).status).toBe('expired');
    expect((await get(scheduled, sandbox)).status).toBe('pending_review');
    const items = (await get(completed, sandbox)).gfe_data;
    expect(items.map(({ status }: Answer['body']) => status)).toEqual(['approved', 'expired']);
    await setClock(harness, sandbox, TEN_YEARS);
    await setClock(harness, sandbox, TEN_YEARS);
    expect((await get(scheduled, sandbox)).status).toBe('expired');
    expect((await events(sandbox, completed)).slice(4)).toEqual([
      'gfe.expiring',
      'gfe.expired',
      'order.held',
      'gfe.expired',
      'order.held',
    ]);
    expect((await events(sandbox, waiting)).slice(1)).toEqual(['encounter.expired']);
  });

  it('releases the first 500 lapsed claims, and leaves the others to the job', async () => {
    const sandbox = await newSandbox(harness);
    const { db } = harness.domain;
    const { tenantId } = sandbox;
    const where = { tenantId, encounterNo: claimed.encounter_id };
    await copyEncounter(observer, (await db.prisma.encounter.findFirstOrThrow({ where })).id, 600);
    const lapsed = () => db.prisma.encounter.count({ where: { tenantId, status: 'in_review' } });
    expect((await setClock(harness, sandbox, 4 * HOUR)).status).toBe(200);
    expect(await lapsed()).toBe(101);
    await lapseDueClaims(harness.domain);
    expect(await lapsed()).toBe(0);
  });

  it('never moves back when twelve requests race', async () => {
    const sandbox = await newSandbox(harness);
    const wanted = Array.from({ length: 12 }, (_, index) => ((index * 7) % 12) + 1);
    const answers = await Promise.all(wanted.map((seconds) => setClock(harness, sandbox, seconds)));
    expect(answers.filter(({ status }) => ![200, 400, 409].includes(status))).toEqual([]);
    const moved = answers.filter(({ status }) => status === 200).map(({ body }) => body.offsetSeconds);
    expect(await offset(sandbox)).toBe(Math.max(...moved));
  });
});

describe('setClock 400', () => {
  it('refuses a smaller offset, and keeps the current one', async () => {
    const sandbox = await newSandbox(harness);
    await setClock(harness, sandbox, 100);
    const answer = await setClock(harness, sandbox, 99);
    expectProblem(answer, 400, 'validation_failed', [{ pointer: '#/offsetSeconds', code: 'range' }]);
    expect(await offset(sandbox)).toBe(100);
  });
});

describe('setClock 500', () => {
  it('succeeds when repeated after an internal error', async () => {
    const sandbox = await newSandbox(harness);
    const answer = await withoutTable(harness, 'event', () => setClock(harness, sandbox, 5 * HOUR));
    expectProblem(answer, 500, 'internal_error');
    expect((await get(claimed, sandbox)).status).toBe('in_review');
    expect((await setClock(harness, sandbox, 5 * HOUR)).status).toBe(200);
    expect((await get(claimed, sandbox)).status).toBe('pending_review');
  });
});
