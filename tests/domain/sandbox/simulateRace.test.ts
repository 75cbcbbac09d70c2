import { setTimeout as delay } from 'node:timers/promises';
import { cast } from '../../support/cast.js';
import { operationOf } from '../../support/contract.js';
import type { Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { newSandbox, simulate } from '../../support/sandbox.js';

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  // A sandbox has an eighth of it, and all requests wait at the same time.
  harness = await startHarness({ environment: { DATABASE_POOL_SIZE: '64' } });
  partner = await newSandbox(harness);
});
afterAll(() => harness.close());

const { encounter_id } = cast.encounters.waiting;
const outcomes = ['claim', 'approve_all', 'deny_all', 'approve_first', 'no_show', 'expire'];
const claim = (reviewerRef: string): Promise<Answer> =>
  call(harness, `POST /encounters/${encounter_id}/claim`, { token: partner.token, json: { reviewerRef } });
const pairOf = ({ status, body }: Answer): string => `${status} ${status === 200 ? '' : body.code}`;

/** What the contract shows, by the names of its examples, which are those of the codes. */
const declared = Object.entries(operationOf('simulateEncounter').responses).flatMap(([status, { content }]) =>
  Object.keys(content?.['application/json']?.examples ?? {}).map((code) => `${status} ${status === '200' ? '' : code}`),
);

it('a simulation that meets a claim gives only responses that it declares', async () => {
  const { db } = harness.domain;
  const requests: Promise<Answer>[] = [];
  const waiting = async (count: number): Promise<void> => {
    for (let sessions: unknown[] = []; sessions.length < count; await delay(5)) {
      sessions = await db.prisma.$queryRaw`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    }
  };
  await db.prisma.$transaction(
    async (transaction) => {
      await transaction.$queryRaw`
      SELECT 1 FROM encounter WHERE tenant_id = ${partner.tenantId} AND encounter_no = ${encounter_id} FOR UPDATE`;
      // The claim comes first; a reader before its turn still sees the encounter unclaimed.
      requests.push(claim('another'));
      await waiting(1);
      requests.push(...outcomes.map((outcome) => simulate(harness, partner, encounter_id, { outcome, pay: true })));
      await waiting(1 + outcomes.length);
    },
    { timeout: 20_000 },
  );
  const [first, ...played] = await Promise.all(requests);
  expect(first?.body).toMatchObject({ status: 'in_review', reviewerRef: 'another' });
  expect(played.map(pairOf).filter((pair) => !declared.includes(pair))).toEqual([]);
  expect(played.filter(({ status }) => status === 200)).not.toEqual([]);
});
