import { Prisma } from '../../../generated/prisma/client.js';
import { encounterBody, newPartner } from '../../support/factories.js';
import { call, type Answer } from '../../support/http.js';
import { inTurn } from '../../support/lockWaits.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { expectProblem, withoutTable } from '../../support/refusals.js';

const { harness, observer: other } = await openObservedHarness();
const partner = await newPartner(harness);
const json = await encounterBody(harness, partner);

const create = (key: string): Promise<Answer> =>
  call(harness, 'POST /encounters', { token: partner.token, json, headers: { 'Idempotency-Key': key } });
const isReplayed = ({ headers }: Answer): boolean => headers.get('Idempotent-Replayed') === 'true';
/** The numbers of encounters, keys and encounter.created events. */
const rows = async (): Promise<number[]> => {
  const { prisma } = harness.domain.db;
  const where = { tenantId: partner.tenantId };
  const events = await prisma.event.count({ where: { ...where, type: 'encounter_created' } });
  return [await prisma.encounter.count({ where }), await prisma.idempotencyKey.count({ where }), events];
};
const increased = (before: readonly number[], by: number): number[] => before.map((count) => count + by);
/** With this lock, requests wait at their last statement, which writes the event, after they have taken their key. */
const noEvents = Prisma.sql`LOCK TABLE event IN EXCLUSIVE MODE`;

describe('two simultaneous createEncounter requests with one key', () => {
  it('create one encounter, and the second waits for the response of the first', async () => {
    const before = await rows();
    const request = () => create('meeting');
    const [first, second] = await inTurn(harness, noEvents, [request, request]);
    expect([first.status, isReplayed(first)]).toEqual([201, false]);
    expect([second.status, isReplayed(second), second.body]).toEqual([201, true, first.body]);
    expect(await rows()).toEqual(increased(before, 1));
  });

  it('answer 409 with Retry-After to the second when the first takes too long', async () => {
    const before = await rows();
    await other.query('BEGIN');
    await other.query(
      `INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint)
      SELECT tenant_id, id, 'createEncounter', 'slow', sha256('') FROM api_client WHERE client_id = $1`,
      [partner.clientId],
    );
    const answer = await create('slow');
    await other.query('ROLLBACK');
    expectProblem(answer, 409, 'idempotency_in_progress');
    expect(answer.headers.get('Retry-After')).toBe('1');
    expect(await rows()).toEqual(before);
    const retry = await create('slow');
    expect([retry.status, isReplayed(retry)]).toEqual([201, false]);
  });
});

describe('a createEncounter request that fails', () => {
  it('leaves neither effect nor key when its database session dies, and the waiting duplicate creates the encounter', async () => {
    const before = await rows();
    const request = () => create('cut');
    const [first, second] = await inTurn(harness, noEvents, [request, request], async (_holder, [ended]) => {
      await other.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND wait_event = 'relation'`);
      await ended;
    });
    expectProblem(first, 503, 'dependency_unavailable');
    expect([second.status, isReplayed(second)]).toEqual([201, false]);
    expect(await rows()).toEqual(increased(before, 1));
    expect(isReplayed(await create('cut'))).toBe(true);
  });

  it('leaves neither effect nor Idempotency-Key when it fails at its last step', async () => {
    const before = await rows();
    expectProblem(await withoutTable(harness, 'event', () => create('broken')), 500, 'internal_error');
    expect(await rows()).toEqual(before);
    const retry = await create('broken');
    expect([retry.status, isReplayed(retry)]).toEqual([201, false]);
  });
});
