import fc from 'fast-check';
import type { Pool } from 'pg';
import { openPool } from '../../../src/adapters/database/openPool.js';
import { cancelEncounter, expireEncounter } from '../../../src/domain/encounters/cancellation.js';
import { expireDueEncounters, lapseDueClaims } from '../../../src/domain/sweeps/encounterDeadlines.js';
import { provideInformation, requestInformation } from '../../../src/domain/reviews/information.js';
import { rescheduleEncounter } from '../../../src/domain/encounters/update.js';
import { claimEncounter, releaseEncounter, submitReview } from '../../../src/domain/reviews/review.js';
import { presentChartVersion } from '../../../src/domain/reviews/chartVersion.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { Problem } from '../../../src/problem.js';
import { copyTenant } from '../../support/copies.js';
import { newEncounter, newPartner, newProduct } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { oncePerName } from '../../support/oncePerName.js';
import { callerContext } from '../../support/patientLives.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { action } from './encounterActions.js';
import { step, type Action, type Given, type Snapshot } from './encounterModel.js';

/** Each run draws new lives; LIVES=2000 draws more of them. */
const runs = Number(process.env['LIVES'] ?? 120);
const lanes = 4;
/** Tenants that one transaction creates. */
const batch = 50;
const start = Date.parse('2026-11-20T16:00:00.000Z');
const hour = 3_600_000;

let database: TestDatabase;
let harness: Harness;
/** Reads the stored state without the cost of Prisma. */
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  harness = await startHarness({ databaseUrl: database.url });
  pool = openPool({ connectionString: database.url, max: lanes });
});
afterAll(async () => {
  await pool.end();
  await harness.close();
  await database.drop();
});

/** A tenant whose only encounter has two treatments of two categories; each life starts with a copy. */
interface Template extends Given {
  readonly tenantId: string;
  readonly groups: readonly Readonly<Record<'categoryId' | 'subcategoryId', string>>[];
}
const kinds = ['chart', 'live'] as const;
const schedule = { scheduledDay: '2026-11-20', scheduledTime: '17:15:00', scheduledTimeZone: 'UTC' };

async function newTemplate(kind: (typeof kinds)[number]): Promise<Template> {
  const partner = await newPartner(harness);
  const { tenantId } = partner;
  const treatmentIds = [await newProduct(harness, partner), await newProduct(harness, partner)];
  const changes = kind === 'live' ? { reviewType: 'synchronous', ...schedule } : {};
  const { gfe_data } = await newEncounter(harness, partner, { treatmentIds, ...changes });
  return { tenantId, groups: gfe_data, isLive: kind === 'live', createdAt: start };
}

const copied = 'tenant api_client clinic client category subcategory product encounter encounter_treatment gfe_item';

/** The stored state of a tenant's only encounter. */
async function stored(tenantId: string): Promise<Snapshot & { readonly encounterNo: bigint }> {
  const text = `SELECT status, reviewer_ref AS reviewer, version, encounter_no AS "encounterNo",
      (extract(epoch FROM claimed_at) * 1000)::float8 AS "claimedAt",
      (extract(epoch FROM lease_expires_at) * 1000)::float8 AS "leaseEnds", visit_url IS NOT NULL AS "hasVisitUrl",
      (extract(epoch FROM claimable_from) * 1000)::float8 AS "claimableFrom",
      (extract(epoch FROM expires_at) * 1000)::float8 AS "expiresAt",
      (SELECT (extract(epoch FROM max(i.expires_at)) * 1000)::float8 FROM encounter_information i
        WHERE i.tenant_id = e.tenant_id AND provided_at IS NULL) AS "openQuestion",
      (SELECT (extract(epoch FROM max(provided_at)) * 1000)::float8 FROM encounter_information i
        WHERE i.tenant_id = e.tenant_id) AS "informedAt",
      ARRAY(SELECT status::text FROM gfe_item i WHERE i.tenant_id = e.tenant_id ORDER BY position) AS items,
      (SELECT count(*)::int FROM "order" o WHERE o.tenant_id = e.tenant_id) AS orders,
      (SELECT count(*)::int FROM order_line l WHERE l.tenant_id = e.tenant_id) AS lines,
      ARRAY(SELECT replace(type::text, 'encounter.', '') FROM event v
        WHERE v.tenant_id = e.tenant_id AND type::text LIKE 'encounter.%' ORDER BY position) AS events
    FROM encounter e WHERE tenant_id = $1`;
  const { rows } = await pool.query({ name: 'stored', text, values: [tenantId] });
  return { ...rows[0], encounterNo: BigInt(rows[0].encounterNo) };
}

/** The groups of the pending items. */
type Waiting = Template['groups'];

/** The domain function that performs the action. */
function workOf(action: Action, encounterNo: bigint, waiting: Waiting, now: number) {
  return async (context: CallerContext): Promise<unknown> => {
    switch (action.type) {
      case 'claim': {
        const { by: reviewerRef, leaseSeconds, hasUrl } = action;
        const visit = hasUrl ? { visitUrl: 'https://visits.example.com/1' } : {};
        return claimEncounter(context, encounterNo, { reviewerRef, leaseSeconds, ...visit });
      }
      case 'release':
        return releaseEncounter(context, encounterNo, { reviewerRef: action.by });
      case 'ask':
        return requestInformation(context, encounterNo, { reviewerRef: action.by, message: 'x' });
      case 'inform':
        return provideInformation(context, encounterNo, { additionalNotes: 'x' });
      case 'reschedule':
        return rescheduleEncounter(context, encounterNo, scheduleIn(action.hours, now));
      case 'review': {
        const chartVersion = await presentChartVersion(context, encounterNo);
        return submitReview(context, encounterNo, { ...reviewOf(action, waiting, now), chartVersion });
      }
      case 'cancel':
        return cancelEncounter(context, encounterNo, { reason: 'other' }, action.by);
      default:
        return expireEncounter(context, encounterNo);
    }
  };
}

/** Performs the action in a transaction; returns the answer in the words of the model. */
async function act(
  tenantId: string,
  encounterNo: bigint,
  action: Action,
  waiting: Waiting,
  now: number,
): Promise<string> {
  const context = await callerContext(harness, { tenantId }, () => new Date(now));
  try {
    if (action.type === 'sweepClaims') await lapseDueClaims(context, tenantId);
    else if (action.type === 'sweepExpired') await expireDueEncounters(context, tenantId);
    else await inCallerTransaction(context, workOf(action, encounterNo, waiting, now));
    return 'done';
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [error.code, ...Object.values(error.extra)].join(' ');
  }
}

type Review = Extract<Action, { type: 'review' }>;

function scheduleIn(hours: number | null, now: number) {
  if (hours === null) return {};
  const time = new Date(now + hours * hour).toISOString();
  return { scheduledDay: time.slice(0, 10), scheduledTime: time.slice(11, 19), scheduledTimeZone: 'UTC' };
}

/** Start and end in minutes from now. A claim is never older than its lease. */
const visits = { now: [0, 0], early: [-24 * 60, 0], late: [0, 2] };

function reviewOf({ by, decisions, visit }: Review, waiting: Waiting, now: number) {
  const decide = (index: number) =>
    decisions === 'all' || (decisions === 'first' && index === 0)
      ? ({ decision: 'approved' } as const)
      : ({ decision: 'denied', reason: 'x' } as const);
  const all = waiting.map(({ categoryId, subcategoryId }, index) => ({ categoryId, subcategoryId, ...decide(index) }));
  const minutes = visit === 'none' ? [] : visits[visit];
  const [startedAt, endedAt] = minutes.map((minute) => new Date(now + minute * 60_000).toISOString());
  return {
    reviewerRef: by,
    decisions: decisions === 'incomplete' ? all.slice(1) : all,
    ...(visit === 'none' ? {} : { visit: { startedAt: startedAt ?? '', endedAt: endedAt ?? '' } }),
  };
}

const lives = fc.record({
  kind: fc.constantFrom(...kinds),
  actions: fc.array(action, { minLength: 3, maxLength: 7, size: 'max' }),
});
const claim = { type: 'claim', by: 'A', leaseSeconds: 3_600, hasUrl: false } as const;
const review = { type: 'review', by: 'A', visit: 'none', decisions: 'all' } as const;
/** Outcomes that a run of random lives may miss. */
const rare: [typeof lives extends fc.Arbitrary<infer Life> ? Life : never][] = [
  [{ kind: 'live', actions: [claim, { type: 'wait', seconds: 3_600 }, claim, review] }],
  [{ kind: 'chart', actions: [claim, { ...review, by: 'B' }, { ...review, decisions: 'incomplete' }, review] }],
  [{ kind: 'chart', actions: [claim, { ...review, visit: 'early' }, { ...review, visit: 'late' }] }],
  [{ kind: 'chart', actions: [claim, { ...review, decisions: 'none' }] }],
  [{ kind: 'chart', actions: [claim, { type: 'ask', by: 'A' }, { type: 'cancel', by: 'partner' }] }],
  [{ kind: 'chart', actions: [{ type: 'wait', seconds: 30 * 86_400 }, { type: 'sweepExpired' }] }],
];
const seen = new Set<string>();
const templates = oncePerName<Template>();

/** Runs lives one after the other, each in its tenant. */
const live = (lane: number, numRuns: number): Promise<void> => {
  const used = { chart: 0, live: 0 };
  return fc.assert(
    fc.asyncProperty(lives, async ({ kind, actions }) => {
      const template = await templates(kind, () => newTemplate(kind));
      const number = used[kind];
      used[kind] += 1;
      if (number % batch === 0) await copyTenant(pool, template.tenantId, copied, `${kind}-${lane}`, number, batch);
      await liveOnce(`${kind}-${lane}-${number}`, template, actions);
    }),
    { numRuns, examples: rare },
  );
};

async function liveOnce(tenantId: string, template: Template, actions: readonly Action[]): Promise<void> {
  const { encounterNo, ...initial } = await stored(tenantId);
  let [model, now]: [Snapshot, number] = [initial, start];
  for (const each of actions) {
    if (each.type === 'wait') {
      now += each.seconds * 1000;
      continue;
    }
    const before = model;
    const waiting = template.groups.filter((_, position) => before.items[position] === 'pending_review');
    const expected = step(before, template, each, now);
    const answer = await act(tenantId, encounterNo, each, waiting, now);
    const { encounterNo: _, ...after } = await stored(tenantId);
    expect({ answer, after }).toEqual(expected);
    model = expected.after;
    seen.add(model.status).add(answer.split(' ')[0] ?? '');
  }
}

it(`every encounter has the state that the model predicts, over ${runs} random lives`, async () => {
  // In parallel: each life mostly waits for the database.
  await Promise.all(Array.from({ length: lanes }, (_, lane) => live(lane, runs / lanes)));
  // The lives reached every state and the rarer problems.
  const codes = ['not_due', 'claimed_by_other', 'visit_required', 'validation_failed', 'decisions_incomplete'];
  const states = ['awaiting_information', 'cancelled', 'completed', 'denied', 'expired', 'in_review', 'pending_review'];
  expect([...seen]).toEqual(expect.arrayContaining([...codes, ...states]));
});
