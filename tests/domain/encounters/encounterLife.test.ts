import fc from 'fast-check';
import { Pool } from 'pg';
import { cancelEncounter, expireEncounter } from '../../../src/domain/encounters/cancellation.js';
import { expireDueEncounters, lapseDueClaims } from '../../../src/domain/sweeps/encounterDeadlines.js';
import { provideInformation, requestInformation } from '../../../src/domain/reviews/information.js';
import { rescheduleEncounter } from '../../../src/domain/encounters/rescheduling.js';
import { claimEncounter, releaseEncounter, submitReview } from '../../../src/domain/reviews/review.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { Problem } from '../../../src/problem.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { callerContext } from '../../support/patientLives.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { action } from './encounterActions.js';
import { brokenInvariants, step, type Action, type Given, type Snapshot } from './encounterModel.js';

/** Each run draws new lives; LIVES=2000 draws more of them. */
const runs = Number(process.env['LIVES'] ?? 300);
const lanes = 4;
/** Tenants that one transaction creates. */
const batch = 50;
const start = Date.parse('2026-11-20T16:00:00.000Z');
const hour = 3_600_000;
const month = start + 30 * 24 * hour;

let database: TestDatabase;
let harness: Harness;
/** Reads the stored state without the cost of Prisma. */
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  harness = await startHarness({ databaseUrl: database.url });
  pool = new Pool({ connectionString: database.url, max: lanes });
});
afterAll(async () => {
  await pool.end();
  await harness.close();
  await database.drop();
});

/** The initial state of an encounter with two treatments, of two categories. */
type Start = Given & Pick<Snapshot, 'claimableFrom' | 'expiresAt' | 'items'>;
const chart: Start = {
  ...{ isLive: false, createdAt: start, claimableFrom: start, expiresAt: month },
  items: ['pending_review', 'pending_review'],
};
const kinds: Readonly<Record<string, Start>> = {
  chart,
  live: { ...chart, isLive: true, claimableFrom: start + hour },
  'partly-reused': { ...chart, items: ['approved', 'pending_review'] },
};

const id = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const [clinic, patient, encounter, first, second] = [id(1), id(2), id(3), id(4), id(5)] as const;
/** Ids of category, subcategory and product alike, which are in separate tables. */
const groups = [first, second];

/**
 * Creates tenants with one encounter each, one tenant per life, so that lives cannot affect each other. All tenants
 * share the same ids, as sandbox fixtures do.
 */
async function createTenants(prefix: string, given: Start, from: number): Promise<void> {
  const { isLive, claimableFrom, expiresAt, items } = given;
  const [time, claimable, end] = [start, claimableFrom, expiresAt].map((ms) => `'${new Date(ms).toISOString()}'`);
  const tenants = `FROM generate_series(${from}, ${from + batch - 1}) AS n`;
  const tenant = `'${prefix}-' || n`;
  const statements = [
    `INSERT INTO tenant (id, name, mode, created_at, updated_at)
      SELECT ${tenant}, ${tenant}, 'live', ${time}, ${time} ${tenants}`,
    `INSERT INTO api_client (id, tenant_id, client_id, name, permissions, allowed_clinic_ids, created_at, updated_at)
      SELECT gen_random_uuid(), ${tenant}, ${tenant}, 'x', '{}', '{}', ${time}, ${time} ${tenants}`,
    `INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active, created_at, updated_at)
      SELECT '${clinic}', ${tenant}, 'x', 'x', 'x', true, ${time}, ${time} ${tenants}`,
    `INSERT INTO client (id, tenant_id, first_name, last_name, email, date_of_birth, phone, country_code, is_verified,
        is_home_address_same_as_shipping, created_at, updated_at)
      SELECT '${patient}', ${tenant}, 'x', 'x', 'x', '1990-06-30', '1', '1', 'VERIFIED', false, ${time}, ${time}
      ${tenants}`,
    `INSERT INTO encounter (id, tenant_id, status, clinic_id, patient_id, review_type, service_queue, sub_total,
        total_shipping_amt, grand_total, claimable_from, expires_at, created_at, updated_at)
      SELECT '${encounter}', ${tenant}, 'pending_review', '${clinic}', '${patient}',
        '${isLive ? 'synchronous' : 'asynchronous'}', 'provider_network', 2, 0, 2, ${claimable}, ${end}, ${time},
        ${time} ${tenants}`,
    ...groups.flatMap((group, position) => [
      `INSERT INTO category (id, tenant_id, category_name, review_often, review_recurring, created_at, updated_at)
        SELECT '${group}', ${tenant}, '${group}', 'YEARLY', true, ${time}, ${time} ${tenants}`,
      `INSERT INTO subcategory (id, tenant_id, category_id, sub_category_name, created_at, updated_at)
        SELECT '${group}', ${tenant}, '${group}', 'x', ${time}, ${time} ${tenants}`,
      `INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, pharmacy_id, pharmacy_name,
          external_code, category_id, subcategory_id, created_at, updated_at)
        SELECT '${group}', ${tenant}, '${group}', 'x', 'x', 1, true, '${group}', 'x', 'x', '${group}', '${group}',
          ${time}, ${time} ${tenants}`,
      `INSERT INTO encounter_treatment (id, tenant_id, encounter_id, product_id, position, sku, name, price,
          shipping_type, shipping_amount, pharmacy_id, pharmacy_name, category_id, category_name, subcategory_id,
          sub_category_name)
        SELECT '${group}', ${tenant}, '${encounter}', '${group}', ${position}, 'x', 'x', 1, 'FREE_SHIPPING', 0,
          '${group}', 'x', '${group}', 'x', '${group}', 'x' ${tenants}`,
      `INSERT INTO gfe_item (id, tenant_id, encounter_id, position, category_id, category_name, subcategory_id,
          sub_category_name, review_often, review_recurring, status, decided_at)
        SELECT '${group}', ${tenant}, '${encounter}', ${position}, '${group}', 'x', '${group}', 'x', 'YEARLY', true,
          '${items[position]}', ${items[position] === 'approved' ? time : 'NULL'} ${tenants}`,
    ]),
  ];
  await harness.domain.db.prisma.$transaction(statements.map((sql) => harness.domain.db.prisma.$executeRawUnsafe(sql)));
}

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

/** The domain function that performs the action. */
function workOf(action: Action, encounterNo: bigint, waiting: readonly number[], now: number) {
  return (context: CallerContext): Promise<unknown> => {
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
      case 'review':
        return submitReview(context, encounterNo, reviewOf(action, waiting, now));
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
  waiting: readonly number[],
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

function reviewOf({ by, decisions, visit }: Review, waiting: readonly number[], now: number) {
  const decide = (index: number) =>
    decisions === 'all' || (decisions === 'first' && index === 0)
      ? ({ decision: 'approved' } as const)
      : ({ decision: 'denied', reason: 'x' } as const);
  const all = waiting.map((position, index) => {
    const group = groups[position] ?? '';
    return { categoryId: group, subcategoryId: group, ...decide(index) };
  });
  const minutes = visit === 'none' ? [] : visits[visit];
  const [startedAt, endedAt] = minutes.map((minute) => new Date(now + minute * 60_000).toISOString());
  return {
    reviewerRef: by,
    decisions: decisions === 'incomplete' ? all.slice(1) : all,
    ...(visit === 'none' ? {} : { visit: { startedAt: startedAt ?? '', endedAt: endedAt ?? '' } }),
  };
}

const lives = fc.record({
  kind: fc.constantFrom(...Object.keys(kinds)),
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

/** Runs lives one after the other, each in its tenant. */
const live = (lane: number, numRuns: number): Promise<void> => {
  const used: Record<string, number> = {};
  return fc.assert(
    fc.asyncProperty(lives, async ({ kind, actions }) => {
      const { [kind]: given } = kinds;
      if (!given) throw new Error(`no ${kind}`);
      const number = used[kind] ?? 0;
      used[kind] = number + 1;
      if (number % batch === 0) await createTenants(`${kind}-${lane}`, given, number);
      await liveOnce(`${kind}-${lane}-${number}`, given, actions);
    }),
    { numRuns, examples: rare },
  );
};

async function liveOnce(tenantId: string, given: Start, actions: readonly Action[]): Promise<void> {
  const { encounterNo, ...initial } = await stored(tenantId);
  let [model, now]: [Snapshot, number] = [initial, start];
  for (const each of actions) {
    if (each.type === 'wait') {
      now += each.seconds * 1000;
      continue;
    }
    const before = model;
    const waiting = before.items.flatMap((item, position) => (item === 'pending_review' ? [position] : []));
    const expected = step(before, given, each, now);
    const answer = await act(tenantId, encounterNo, each, waiting, now);
    const { encounterNo: _, ...after } = await stored(tenantId);
    expect({ answer, after }).toEqual(expected);
    expect([...brokenInvariants(before, expected.after), ...brokenInvariants(before, after)]).toEqual([]);
    model = expected.after;
    seen.add(model.status).add(answer);
  }
}

it(`leaves every encounter in the state that the model predicts, over ${runs} random lives`, async () => {
  // In parallel: each life mostly waits for the database.
  await Promise.all(Array.from({ length: lanes }, (_, lane) => live(lane, runs / lanes)));
  // The lives reached every state and the rarer problems.
  const codes = ['not_due', 'claimed_by_other', 'visit_required', 'validation_failed', 'decisions_incomplete'];
  const states = ['awaiting_information', 'cancelled', 'completed', 'denied', 'expired', 'in_review', 'pending_review'];
  expect([...seen]).toEqual(expect.arrayContaining([...codes, ...states]));
});
