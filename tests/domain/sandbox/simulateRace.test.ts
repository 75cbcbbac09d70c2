import { cast } from '../../support/cast.js';
import { operationOf } from '../../support/contract.js';
import type { Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { untilBlocked } from '../../support/lockWaits.js';
import { newSandbox, simulate } from '../../support/sandbox.js';

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  // A sandbox has an eighth of the pool, and all requests wait simultaneously.
  harness = await startHarness({ environment: { DATABASE_POOL_SIZE: '64' } });
  partner = await newSandbox(harness);
});
afterAll(() => harness.close());

const { encounter_id } = cast.encounters.waiting;
const outcomes = ['claim', 'approve_all', 'deny_all', 'approve_first', 'no_show', 'expire'];
const claim = (reviewerRef: string): Promise<Answer> =>
  call(harness, `POST /encounters/${encounter_id}/claim`, { token: partner.token, json: { reviewerRef } });
const pairOf = ({ status, body }: Answer): string => `${status} ${status === 200 ? '' : body.code}`;

/** The declared responses: each example has the name of its problem code. */
const declared = Object.entries(operationOf('simulateEncounter').responses).flatMap(([status, { content }]) =>
  Object.keys(content?.['application/json']?.examples ?? {}).map((code) => `${status} ${status === '200' ? '' : code}`),
);

it('simulateEncounter answers only declared responses when it races with a claim', async () => {
  const requests: Promise<Answer>[] = [];
  await harness.domain.db.prisma.$transaction(
    async (transaction) => {
      await transaction.$queryRaw`
        SELECT 1 FROM encounter WHERE tenant_id = ${partner.tenantId} AND encounter_no = ${encounter_id} FOR UPDATE`;
      // The claim is first in the queue for the lock; simulations that read before they wait still see no claim.
      requests.push(claim('another'));
      await untilBlocked(harness);
      requests.push(...outcomes.map((outcome) => simulate(harness, partner, encounter_id, { outcome, pay: true })));
      await untilBlocked(harness, 1 + outcomes.length);
    },
    { timeout: 20_000 },
  );
  const [claimed, ...simulated] = await Promise.all(requests);
  expect(claimed?.body).toMatchObject({ status: 'in_review', reviewerRef: 'another' });
  expect(simulated.map(pairOf).filter((pair) => !declared.includes(pair))).toEqual([]);
  expect(simulated.filter(({ status }) => status === 200)).not.toEqual([]);
});
