import { Client, DatabaseError } from 'pg';
import { v7 } from 'uuid';
import { everyCase } from '../../support/everyCase.js';
import { createTestDatabase } from '../../support/postgres.js';
import {
  apiClient,
  at,
  change,
  clinic,
  encounterRow,
  final,
  insert,
  itemColumnsOf,
  itemRow,
  later,
  lineRow,
  open,
  orderRow,
  otherProduct,
  questionRow,
  statuses,
  tenantRows,
  type Status,
} from './invariantRows.js';

// Each test changes valid rows of tenant "a" in a transaction that the named constraint between rows rejects, at the
// latest at COMMIT. Checks of one row and keys need no test: the migration declares them.
let warnings: string[] = [];
const database = await createTestDatabase();
const client = new Client({ connectionString: database.url });
client.on('notice', ({ message }) => warnings.push(String(message)));
await client.connect();
afterAll(() => client.end().then(() => database.drop()));
await commit(...tenantRows);

async function commit(...statements: string[]): Promise<void> {
  await client.query('BEGIN');
  try {
    for (const statement of statements) await client.query(statement);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/** The name of the constraint that rejects the statements; undefined if they are valid. */
async function refusal(...statements: string[]): Promise<string | undefined> {
  warnings = [];
  const error = await commit(...statements).catch((thrown: unknown) => thrown);
  if (error === undefined) return undefined;
  if (!(error instanceof DatabaseError)) throw new Error('no answer of PostgreSQL', { cause: error });
  // Citus names the constraint in a message only, that of COMMIT in a warning, with the number of the shard.
  const said = [error.message, ...warnings].join();
  return error.constraint ?? /constraint "(\w+?)(?:_\d{6})?"/.exec(said)?.[1] ?? said;
}

/** Commits a valid encounter in this status with one item and, if completed, an order of one line. */
async function newEncounter(status: Status): Promise<string> {
  const id = v7();
  const order = status === 'completed' ? [orderRow(id), lineRow(id)] : [];
  await commit(encounterRow(id, status), itemRow(id, itemColumnsOf[status]), ...order);
  return id;
}

describe('a final status', () => {
  const moves = final.flatMap((from) => statuses.filter((to) => to !== from).map((to) => [from, to] as const));
  it('is kept for an encounter by the trigger encounter_final', () =>
    everyCase(moves, String, async ([from, to]) => {
      const id = await newEncounter(from);
      expect(await refusal(change('encounter', `status = '${to}'`, id))).toBe('encounter_final');
    }));

  // Only an approval may be superseded or revoked.
  const itemStatuses = ['pending_review', 'approved', 'denied', 'cancelled', 'expired', 'superseded', 'revoked'];
  const itemMoves = final.flatMap((from) =>
    (from === 'completed' ? itemStatuses.slice(0, 5) : itemStatuses)
      .filter((to) => `'${to}'` !== itemColumnsOf[from]['status'])
      .map((to) => [from, to] as const),
  );
  it('is kept for an item by the trigger gfe_item_final', () =>
    everyCase(itemMoves, String, async ([from, to]) => {
      const id = await newEncounter(from);
      expect(await refusal(change('gfe_item', `status = '${to}'`, id))).toBe('gfe_item_final');
    }));

  it('does not prevent changes to the other columns', () =>
    everyCase(final, String, async (status) => {
      const id = await newEncounter(status);
      const changes = [
        change('encounter', `status = '${status}', version = 2`, id),
        change('gfe_item', `expired_notified_at = ${at}`, id),
      ];
      expect(await refusal(...changes)).toBeUndefined();
    }));
});

/** By constraint: the changes that it rejects, with the statuses of the encounter. */
type Mistakes = Readonly<Record<string, [mistake: string, statuses: readonly Status[], make: Statements][]>>;
type Statements = (id: string, status: Status) => string[];

describe('an encounter, its items and its order', () => {
  const approve = (id: string) => change('gfe_item', `status = 'approved', decided_at = ${at}`, id);
  const complete = (id: string) => [
    change('encounter', `status = 'completed', completed_at = ${at}, lease_expires_at = NULL`, id),
    approve(id),
  ];
  const cancel = (id: string) =>
    change('encounter', `status = 'cancelled', cancelled_at = ${at}, cancel_reason = 'other'`, id);
  const remove = (table: string, key: string, id: string) =>
    `DELETE FROM "${table}" WHERE tenant_id = 'a' AND ${key} = '${id}'`;
  const removeLines = (id: string) => remove('order_line', 'order_id', id);
  const otherLine = { product_id: `'${otherProduct}'` };
  const secondPlace = { position: '1' };
  const anotherItem = (id: string) =>
    itemRow(id, { ...itemColumnsOf.pending_review, id: `'${v7()}'`, category_id: `'${clinic}'` });
  const owned = (id: string) => ({ tenant_id: `'a'`, order_id: `'${id}'`, api_client_id: `'${apiClient}'` });
  const payment = (id: string, amount: string) =>
    insert('payment', { id: `'${v7()}'`, ...owned(id), amount, created_at: at });
  const newWithDecidedItem = (status: Status, id = v7()) => [
    encounterRow(id, status),
    itemRow(id, itemColumnsOf.completed),
  ];
  /** Takes items from other encounters. */
  let spare: string;
  beforeAll(async () => void (spare = await newEncounter('pending_review')));
  const transfer = (id: string) => change('gfe_item', `encounter_id = '${spare}', category_id = '${clinic}'`, id);

  const completed = ['completed'] as const;
  const asked = ['awaiting_information'] as const;
  const notCompleted = statuses.filter((status) => status !== 'completed');
  const mistakes: Mistakes = {
    encounter_completed_has_order: [
      ['its completion without an order', ['in_review'], complete],
      ['a new one without an order', completed, () => [encounterRow(v7(), 'completed')]],
      ['the deletion of its order', completed, (id) => [removeLines(id), remove('order', 'id', id)]],
    ],
    encounter_information_open_key: [['two open questions', asked, (id) => [questionRow(id), questionRow(id)]]],
    order_of_completed_encounter: [['an order', notCompleted, (id) => [orderRow(id), lineRow(id)]]],
    order_has_line: [
      ['an order without lines', ['in_review'], (id) => [...complete(id), orderRow(id)]],
      ['a first line at 1', ['in_review'], (id) => [...complete(id), orderRow(id), lineRow(id, secondPlace)]],
      ['the deletion of the only line', completed, (id) => [removeLines(id)]],
    ],
    payment_sums: [['a payment that the order does not count', completed, (id) => [payment(id, '0.01')]]],
    encounter_open_has_pending_item: [
      ['a new one without an item', open, (_id, status) => [encounterRow(v7(), status)]],
      ['a new one with a decided item', open, (_id, status) => newWithDecidedItem(status)],
    ],
    gfe_item_open_has_pending_item: [
      ['the removal of its last item', open, (id) => [remove('gfe_item', 'encounter_id', id)]],
      ['the transfer of its last item', open, (id) => [transfer(id)]],
      ['the decision on its last item', open, (id) => [approve(id)]],
    ],
    gfe_item_pending_of_open_encounter: [
      ['a new pending item', final, (id) => [anotherItem(id)]],
      ['its end with a pending item', ['pending_review'], (id) => [cancel(id)]],
    ],
  };
  const cases = Object.entries(mistakes).flatMap(([constraint, rows]) =>
    rows.flatMap(([mistake, affected, make]) => affected.map((status) => [constraint, status, mistake, make] as const)),
  );
  const titleOf = ([constraint, status, mistake]: (typeof cases)[number]) => `${constraint}, ${status}: ${mistake}`;
  it('are rejected with the constraint that the faulty rows violate', () =>
    everyCase(cases, titleOf, async ([constraint, status, , make]) => {
      expect(await refusal(...make(await newEncounter(status), status))).toBe(constraint);
    }));

  const valid: [string, Status, Statements][] = [
    ['a review as the service writes it', 'in_review', (id) => [...complete(id), orderRow(id), lineRow(id)]],
    [
      'a question after an answered one',
      'awaiting_information',
      (id) => [questionRow(id, { provided_at: later }), questionRow(id)],
    ],
    ['a second line', 'completed', (id) => [lineRow(id, { ...secondPlace, ...otherLine })]],
    ['a counted payment', 'completed', (id) => [change('order', 'paid_amt = 0.01', id), payment(id, '0.01')]],
    ['a decision while another item is pending', 'in_review', (id) => [approve(id), anotherItem(id)]],
    ['a full end', 'pending_review', (id) => [cancel(id), change('gfe_item', `status = 'cancelled'`, id)]],
  ];
  it('are accepted with the rows that the service writes', () =>
    everyCase(
      valid,
      ([name]) => name,
      async ([, status, make]) => {
        expect(await refusal(...make(await newEncounter(status), status))).toBeUndefined();
      },
    ));
});
