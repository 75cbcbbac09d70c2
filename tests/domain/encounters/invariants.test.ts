import { DatabaseError } from 'pg';
import { columnsOf } from '../../support/copies.js';
import { everyCase } from '../../support/everyCase.js';
import { newEncounter, newPartner } from '../../support/factories.js';
import type { Answer } from '../../support/http.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import {
  askedEncounter,
  cancelled,
  claimedEncounter,
  completedEncounter,
  deny,
  reviewed,
} from '../../support/reviews.js';
import { simulate } from '../../support/sandbox.js';

// Most tests change rows of the service in one transaction, which a constraint between rows must reject, at COMMIT at
// the latest. Checks of single rows need no test: the migration declares them.
const { harness, observer } = await openObservedHarness();
let warnings: string[] = [];
observer.on('notice', ({ message }) => warnings.push(String(message)));
const partner = await newPartner(harness, 'sandbox');
const { tenantId } = partner;

/** The name of the constraint that rejects the statements; undefined if they are valid. */
async function refusal(...statements: string[]): Promise<string | undefined> {
  warnings = [];
  try {
    await observer.query('BEGIN');
    for (const statement of statements) await observer.query(statement);
    await observer.query('COMMIT');
    return undefined;
  } catch (error) {
    await observer.query('ROLLBACK');
    if (!(error instanceof DatabaseError)) throw error;
    // Citus names the constraint only in a message (at COMMIT, in a warning), followed by the number of the shard.
    const said = [error.message, ...warnings].join();
    return error.constraint ?? /constraint "(\w+?)(?:_\d{6})?"/.exec(said)?.[1] ?? said;
  }
}

const open = ['pending_review', 'in_review', 'awaiting_information'] as const;
/** The statuses that never change. */
const final = ['completed', 'denied', 'cancelled', 'expired'] as const;
const statuses = [...open, ...final];
type Status = (typeof statuses)[number];

const made: Readonly<Record<Status, Answer['body']>> = {
  pending_review: await newEncounter(harness, partner),
  in_review: await claimedEncounter(harness, partner),
  awaiting_information: await askedEncounter(harness, partner),
  completed: await completedEncounter(harness, partner),
  denied: await reviewed(harness, partner, await newEncounter(harness, partner), deny),
  cancelled: await cancelled(harness, partner, await newEncounter(harness, partner)),
  expired: await expiredEncounter(),
};
async function expiredEncounter(): Promise<Answer['body']> {
  const { encounter_id } = await newEncounter(harness, partner);
  return (await simulate(harness, partner, encounter_id, { outcome: 'expire' })).body;
}

/** The statement that updates an encounter or its items. */
const change = (table: 'encounter' | 'gfe_item', set: string, status: Status): string =>
  `UPDATE ${table} SET ${set}
    WHERE tenant_id = '${tenantId}' AND ${table === 'gfe_item' ? 'encounter_id' : 'id'} = '${made[status].id}'`;

describe('a final status', () => {
  const moves = final.flatMap((from) => statuses.filter((to) => to !== from).map((to) => [from, to] as const));
  it('is kept for an encounter by the trigger encounter_final', () =>
    everyCase(moves, String, async ([from, to]) => {
      expect(await refusal(change('encounter', `status = '${to}'`, from))).toBe('encounter_final');
    }));

  // Only an approval may be superseded or revoked.
  const itemStatuses = ['pending_review', 'approved', 'denied', 'cancelled', 'expired', 'superseded', 'revoked'];
  const itemMoves = final.flatMap((from) =>
    (from === 'completed' ? itemStatuses.slice(0, 5) : itemStatuses)
      .filter((to) => to !== made[from].gfe_data[0].status)
      .map((to) => [from, to] as const),
  );
  it('is kept for an item by the trigger gfe_item_final', () =>
    everyCase(itemMoves, String, async ([from, to]) => {
      expect(await refusal(change('gfe_item', `status = '${to}'`, from))).toBe('gfe_item_final');
    }));

  it('does not prevent changes to other columns', () =>
    everyCase(final, String, async (status) => {
      const changes = [
        change('encounter', 'status = status, version = version + 1', status),
        change('gfe_item', 'status = status, expired_notified_at = now()', status),
      ];
      expect(await refusal(...changes)).toBeUndefined();
    }));
});

const { prisma } = harness.domain.db;
const itemIn = async (status: Status) =>
  (await prisma.gfeItem.findFirstOrThrow({ where: { tenantId, encounterId: made[status].id } })).id;
const question = await prisma.encounterInformation.findFirstOrThrow({ where: { tenantId } });
const order = await prisma.order.findFirstOrThrow({ where: { tenantId, encounterId: made.completed.id } });
const line = await prisma.orderLine.findFirstOrThrow({ where: { tenantId, orderId: order.id } });
const [pendingItem, decidedItem] = [await itemIn('pending_review'), await itemIn('completed')];
const spare = await newEncounter(harness, partner);
const { id: apiClientId } = await prisma.apiClient.findFirstOrThrow({ where: { tenantId } });

/** The rows to copy, by id: SQL values by column. On Citus, a lone INSERT … SELECT does not fail at COMMIT. */
const sources = new Map<string, Readonly<Record<string, string>>>();
const copied: (readonly ['encounter' | 'gfe_item' | 'encounter_information' | 'order' | 'order_line', string])[] = [
  ...statuses.map((status) => ['encounter', made[status].id] as const),
  ['gfe_item', pendingItem],
  ['gfe_item', decidedItem],
  ['encounter_information', question.id],
  ['order', order.id],
  ['order_line', line.id],
];
for (const [table, id] of copied) {
  const values = (await columnsOf(observer, table)).map((name) => `quote_nullable(${name}::text) AS ${name}`);
  const { rows } = await observer.query(`SELECT ${values.join()} FROM "${table}" WHERE tenant_id = $1 AND id = $2`, [
    tenantId,
    id,
  ]);
  sources.set(id, rows[0]);
}
/** Inserts a copy of a row with another id. @param changes other values */
const copy = (
  table: (typeof copied)[number][0],
  id: string,
  changes: Readonly<Record<string, string>> = {},
): string => {
  const own = Object.entries({ id: harness.domain.newId(), ...changes }).map(([name, value]) => [name, `'${value}'`]);
  const values = { ...sources.get(id), ...Object.fromEntries(own) };
  return `INSERT INTO "${table}" (${Object.keys(values).join()}) VALUES (${Object.values(values).join()})`;
};

/** By constraint: the changes that it rejects, with the statuses of the encounter. */
type Mistakes = Readonly<Record<string, [mistake: string, statuses: readonly Status[], make: Statements][]>>;
type Statements = (status: Status) => string[];

describe('an encounter, its items and its order', () => {
  const approve = (status: Status) => change('gfe_item', `status = 'approved', decided_at = now()`, status);
  const complete = (status: Status) => [
    change('encounter', `status = 'completed', completed_at = now(), lease_expires_at = NULL`, status),
    approve(status),
  ];
  const cancel = `status = 'cancelled', cancelled_at = now(), cancel_reason = 'other'`;
  const remove = (table: string, key: string, id: string) =>
    `DELETE FROM "${table}" WHERE tenant_id = '${tenantId}' AND ${key} = '${id}'`;
  const removeLines = remove('order_line', 'order_id', order.id);
  const orderOf = (status: Status, position?: string) => {
    const id = harness.domain.newId();
    const ofLine = { order_id: id, ...(position === undefined ? {} : { position }) };
    return [copy('order', order.id, { id, encounter_id: made[status].id }), copy('order_line', line.id, ofLine)];
  };
  const anotherItem = (status: Status) =>
    copy('gfe_item', pendingItem, { encounter_id: made[status].id, category_id: harness.domain.newId() });
  const payment = `INSERT INTO payment (id, tenant_id, order_id, api_client_id, amount, created_at)
    VALUES ('${harness.domain.newId()}', '${tenantId}', '${order.id}', '${apiClientId}', 0.01, now())`;
  const newWithDecidedItem = (status: Status, id = harness.domain.newId()) => [
    copy('encounter', made[status].id, { id }),
    copy('gfe_item', decidedItem, { encounter_id: id }),
  ];
  const transfer = `encounter_id = '${spare.id}', category_id = '${harness.domain.newId()}'`;

  const completed = ['completed'] as const;
  const notCompleted = statuses.filter((status) => status !== 'completed');
  const mistakes: Mistakes = {
    encounter_completed_has_order: [
      ['its completion without an order', ['in_review'], complete],
      ['a new one without an order', completed, () => [copy('encounter', made.completed.id)]],
      ['the deletion of its order', completed, () => [removeLines, remove('order', 'id', order.id)]],
    ],
    encounter_information_open_key: [
      ['two open questions', ['awaiting_information'], () => [copy('encounter_information', question.id)]],
    ],
    order_of_completed_encounter: [['an order', notCompleted, (status) => orderOf(status)]],
    order_has_line: [
      ['an order without lines', ['in_review'], (status) => [...complete(status), ...orderOf(status).slice(0, 1)]],
      ['a first line at 1', ['in_review'], (status) => [...complete(status), ...orderOf(status, '1')]],
      ['the deletion of the only line', completed, () => [removeLines]],
    ],
    payment_sums: [['a payment that the order does not count', completed, () => [payment]]],
    encounter_open_has_pending_item: [
      ['a new one without an item', open, (status) => [copy('encounter', made[status].id)]],
      ['a new one with a decided item', open, (status) => newWithDecidedItem(status)],
    ],
    gfe_item_open_has_pending_item: [
      ['the removal of its last item', open, (status) => [remove('gfe_item', 'encounter_id', made[status].id)]],
      ['the transfer of its last item', open, (status) => [change('gfe_item', transfer, status)]],
      ['the decision on its last item', open, (status) => [approve(status)]],
    ],
    gfe_item_pending_of_open_encounter: [
      ['a new pending item', final, (status) => [anotherItem(status)]],
      ['its end with a pending item', ['pending_review'], (status) => [change('encounter', cancel, status)]],
    ],
  };
  const cases = Object.entries(mistakes).flatMap(([constraint, rows]) =>
    rows.flatMap(([mistake, affected, make]) => affected.map((status) => [constraint, status, mistake, make] as const)),
  );
  const titleOf = ([constraint, status, mistake]: (typeof cases)[number]) => `${constraint}, ${status}: ${mistake}`;
  it('are rejected if they contradict each other, with the name of the violated constraint', () =>
    everyCase(cases, titleOf, async ([constraint, status, , make]) => {
      expect(await refusal(...make(status))).toBe(constraint);
    }));

  it('admit an answered question beside an open one', async () => {
    const answered = { provided_at: harness.clock.now.toISOString() };
    expect(await refusal(copy('encounter_information', question.id, answered))).toBeUndefined();
  });
});
