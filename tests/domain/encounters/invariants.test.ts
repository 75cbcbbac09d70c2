import { Client, DatabaseError } from 'pg';
import { v7 } from 'uuid';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import {
  apiClient, at, change, clinic, encounterRow, final, insert, itemColumnsOf, itemRow, later, lineRow, open, orderRow,
  otherProduct, questionRow, statuses, tenantRows, type Status,
} from './invariantRows.js';

// Each test changes valid rows of tenant "a" in a transaction that the named constraint rejects, at the latest at COMMIT.
let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await commit(...tenantRows('a'), ...tenantRows('b'));
});
afterAll(() => client.end().then(() => database.drop()));

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
  try {
    await commit(...statements);
    return undefined;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return error.constraint ?? error.message;
  }
}

/** Commits a valid encounter in this status with one item and, if completed, an order of one line. */
async function newEncounter(status: Status): Promise<string> {
  const id = v7();
  const order = status === 'completed' ? [orderRow(id), lineRow(id)] : [];
  await commit(encounterRow(id, status), itemRow(id, itemColumnsOf[status]), ...order);
  return id;
}

describe('a constraint on one row', () => {
  it.each<[string, Status, string, string]>([
    ['encounter_lease', 'in_review', 'encounter', 'lease_expires_at = NULL'],
    ['encounter_lease', 'pending_review', 'encounter', `lease_expires_at = ${later}`],
    ['encounter_lease', 'completed', 'encounter', `lease_expires_at = ${later}`],
    ['encounter_claim', 'in_review', 'encounter', 'reviewer_ref = NULL'],
    ['encounter_claim', 'in_review', 'encounter', 'claimed_at = NULL'],
    ['encounter_claim', 'pending_review', 'encounter', `reviewer_ref = 'NPI-1'`],
    ['encounter_claim', 'pending_review', 'encounter', `claimed_at = ${at}`],
    ['encounter_claim', 'awaiting_information', 'encounter', `claimed_at = ${at}`],
    ['encounter_visit_url', 'completed', 'encounter', `visit_url = 'https://x'`],
    ['encounter_completed', 'completed', 'encounter', 'completed_at = NULL'],
    ['encounter_completed', 'denied', 'encounter', 'completed_at = NULL'],
    ['encounter_completed', 'cancelled', 'encounter', `completed_at = ${at}`],
    ['encounter_completed', 'in_review', 'encounter', `completed_at = ${at}`],
    ['encounter_cancelled', 'cancelled', 'encounter', 'cancelled_at = NULL'],
    ['encounter_cancelled', 'cancelled', 'encounter', 'cancel_reason = NULL'],
    ['encounter_cancelled', 'pending_review', 'encounter', `cancelled_at = ${at}`],
    ['encounter_cancelled', 'pending_review', 'encounter', `cancel_reason = 'other'`],
    ['encounter_visit', 'completed', 'encounter', `visit_started_at = ${at}`],
    ['encounter_visit', 'completed', 'encounter', `visit_ended_at = ${at}`],
    ['encounter_visit', 'completed', 'encounter', `visit_started_at = ${later}, visit_ended_at = ${at}`],
    ['gfe_item_decision', 'completed', 'gfe_item', 'decided_at = NULL'],
    ['gfe_item_decision', 'denied', 'gfe_item', 'decided_at = NULL'],
    ['gfe_item_decision', 'pending_review', 'gfe_item', `decided_at = ${at}`],
    ['gfe_item_decision', 'expired', 'gfe_item', `decided_at = ${at}`],
    ['gfe_item_denial', 'denied', 'gfe_item', 'denial_reason = NULL'],
    ['gfe_item_denial', 'completed', 'gfe_item', `denial_reason = 'Allergy'`],
    ['gfe_item_validity', 'denied', 'gfe_item', `valid_until = ${at}`],
    ['gfe_item_validity', 'pending_review', 'gfe_item', `valid_until = ${at}`],
    ['gfe_item_end', 'completed', 'gfe_item', `status = 'superseded', valid_until = NULL`],
    ['gfe_item_revocation', 'completed', 'gfe_item', `status = 'revoked'`],
    ['gfe_item_revocation', 'completed', 'gfe_item', `revocation_reason = 'Audit'`],
    ['gfe_item_revocation', 'completed', 'gfe_item', `status = 'revoked', revocation_reason = 'Audit'`],
    ['gfe_item_final', 'denied', 'gfe_item', `status = 'superseded', denial_reason = NULL, valid_until = ${at}`],
    ['gfe_item_reuse', 'pending_review', 'gfe_item', 'reused_from_encounter_id = encounter_id'],
    ['gfe_item_reuse', 'denied', 'gfe_item', 'reused_from_encounter_id = encounter_id'],
    ['gfe_item_tenant_id_reused_from_encounter_id_fkey', 'completed', 'gfe_item', `reused_from_encounter_id = '${clinic}'`],
    ['order_money', 'completed', 'order', 'grand_total = 2'],
    ['order_money', 'completed', 'order', `paid_amt = 1.01`],
    ['order_paid', 'completed', 'order', `order_status = 'paid'`],
    ['order_paid', 'completed', 'order', 'paid_amt = 1'],
    ['order_line_quantity', 'completed', 'order_line', 'quantity = 2'],
    ['order_line_money', 'completed', 'order_line', 'line_total = 1.01'],
    ['order_line_money', 'completed', 'order_line', 'unit_price = -1, line_total = -1'],
    ['order_line_money', 'completed', 'order_line', 'shipping_amt = -1, line_total = 0'],
    ['order_line_shipping', 'completed', 'order_line', `shipping_type = 'FREE_SHIPPING', shipping_amt = 1, line_total = 2`],
  ])('%s rejects, for an encounter that is %s, %s with %s', async (constraint, status, table, set) => {
    const id = await newEncounter(status);
    expect(await refusal(change(table, set, id))).toBe(constraint);
  });

  it.each([
    ['tenant_currency', `currency = 'usd'`],
    ['tenant_currency', `currency = ''`],
    ['tenant_clock', 'clock_offset_ms = -1'],
    ['tenant_clock', `mode = 'live', clock_offset_ms = 1`],
  ])('%s rejects a tenant with %s', async (constraint, set) => {
    expect(await refusal(`UPDATE tenant SET ${set} WHERE id = 'a'`)).toBe(constraint);
  });

  it('payment_amount and payment_sums reject a payment that is not positive or that its order does not count', async () => {
    const id = await newEncounter('completed');
    const payment = (amount: string): string => insert('payment', {
      id: `'${v7()}'`, tenant_id: `'a'`, order_id: `'${id}'`, amount, api_client_id: `'${apiClient}'`, created_at: at,
    });
    expect(await refusal(payment('0'))).toBe('payment_amount');
    expect(await refusal(payment('-1'))).toBe('payment_amount');
    expect(await refusal(payment('0.01'))).toBe('payment_sums');
    const counted = `UPDATE "order" SET paid_amt = 0.01 WHERE tenant_id = 'a' AND id = '${id}'`;
    expect(await refusal(`${counted}; ${payment('0.01')}`)).toBeUndefined();
  });

  it('idempotency_key_sha256 and _pkey reject a fingerprint that has not 32 bytes and a second use of a key', async () => {
    const key = (bytes: number, operation: string): string => insert('idempotency_key', {
      tenant_id: `'a'`, api_client_id: `'${apiClient}'`, operation_id: `'${operation}'`, key: `'x'`,
      fingerprint: `decode(repeat('00', ${bytes}), 'hex')`,
    });
    expect(await refusal(key(31, 'one'))).toBe('idempotency_key_sha256');
    expect(await refusal(key(32, 'one'))).toBeUndefined();
    expect(await refusal(key(32, 'one'))).toBe('idempotency_key_pkey');
    expect(await refusal(key(32, 'two'))).toBeUndefined();
  });
});

describe('a final state', () => {
  const moves = final.flatMap((from) => statuses.filter((to) => to !== from).map((to) => [from, to] as const));
  it.each(moves)('encounter_final rejects a change from %s to %s', async (from, to) => {
    const id = await newEncounter(from);
    expect(await refusal(change('encounter', `status = '${to}'`, id))).toBe('encounter_final');
  });

  it.each(final.flatMap((from) => ['pending_review', 'approved', 'denied', 'cancelled', 'expired']
    .filter((to) => `'${to}'` !== itemColumnsOf[from]['status']).map((to) => [from, to])))(
    'gfe_item_final rejects that an item of an encounter that is %s becomes %s',
    async (from, to) => {
      const id = await newEncounter(statuses.find((status) => status === from) ?? 'expired');
      expect(await refusal(change('gfe_item', `status = '${to}'`, id))).toBe('gfe_item_final');
    },
  );

  it.each(final)('allows changes to the other columns of an encounter that is %s', async (status) => {
    const id = await newEncounter(status);
    const set = `status = '${status}', version = 2`;
    expect(await refusal(change('encounter', set, id), change('gfe_item', `expired_notified_at = ${at}`, id))).toBeUndefined();
  });
});

describe('an encounter and its order', () => {
  const complete = (id: string): string[] => [
    change('encounter', `status = 'completed', completed_at = ${at}, lease_expires_at = NULL`, id),
    change('gfe_item', `status = 'approved', decided_at = ${at}`, id),
  ];

  it('are accepted in the order in which the service writes them', async () => {
    const id = await newEncounter('in_review');
    expect(await refusal(...complete(id), orderRow(id), lineRow(id))).toBeUndefined();
  });

  it('encounter_completed_has_order rejects a completed encounter without an order', async () => {
    const id = await newEncounter('in_review');
    expect(await refusal(...complete(id))).toBe('encounter_completed_has_order');
    expect(await refusal(encounterRow(v7(), 'completed'))).toBe('encounter_completed_has_order');
  });

  it('encounter_completed_has_order rejects the deletion of the order', async () => {
    const id = await newEncounter('completed');
    const removal = [`DELETE FROM order_line WHERE tenant_id = 'a' AND order_id = '${id}'`,
      `DELETE FROM "order" WHERE tenant_id = 'a' AND id = '${id}'`];
    expect(await refusal(...removal)).toBe('encounter_completed_has_order');
  });

  it('encounter_information_open_key rejects a second open question, and encounter_information_notes rejects notes without a time', async () => {
    const id = await newEncounter('awaiting_information');
    expect(await refusal(questionRow(id, { additional_notes: `'x'` }))).toBe('encounter_information_notes');
    expect(await refusal(questionRow(id, { provided_at: later }), questionRow(id), questionRow(id))).toBe('encounter_information_open_key');
  });
  it.each(statuses.filter((status) => status !== 'completed'))(
    'order_of_completed_encounter rejects an order of an encounter that is %s',
    async (status) => {
      const id = await newEncounter(status);
      expect(await refusal(orderRow(id), lineRow(id))).toBe('order_of_completed_encounter');
    },
  );

  it('order_tenant_id_encounter_id_key rejects a second order', async () => {
    const id = await newEncounter('completed');
    expect(await refusal(orderRow(id, { id: `'${v7()}'` }))).toBe('order_tenant_id_encounter_id_key');
  });

  it('order_has_line rejects an order without lines or with positions that do not begin at 0', async () => {
    const id = await newEncounter('in_review');
    expect(await refusal(...complete(id), orderRow(id))).toBe('order_has_line');
    expect(await refusal(...complete(id), orderRow(id), lineRow(id, { position: '1' }))).toBe('order_has_line');
  });

  it('order_has_line rejects the deletion of the only line', async () => {
    const id = await newEncounter('completed');
    expect(await refusal(`DELETE FROM order_line WHERE tenant_id = 'a' AND order_id = '${id}'`)).toBe('order_has_line');
  });

  it('order_line_*_key rejects two lines with one position or one treatment', async () => {
    const id = await newEncounter('completed');
    const samePosition = lineRow(id, { product_id: `'${otherProduct}'` });
    expect(await refusal(samePosition)).toBe('order_line_tenant_id_order_id_position_key');
    expect(await refusal(lineRow(id, { position: '1' }))).toBe('order_line_tenant_id_order_id_product_id_key');
    expect(await refusal(lineRow(id, { position: '1', product_id: `'${otherProduct}'` }))).toBeUndefined();
  });
});

describe('an encounter and its pending items', () => {
  const pending = itemColumnsOf.pending_review;
  it.each(open)('encounter_open_has_pending_item rejects a new encounter that is %s without a pending item', async (status) => {
    expect(await refusal(encounterRow(v7(), status))).toBe('encounter_open_has_pending_item');
    const id = v7();
    expect(await refusal(encounterRow(id, status), itemRow(id, itemColumnsOf.completed)))
      .toBe('encounter_open_has_pending_item');
  });

  it.each(open)(
    'gfe_item_open_has_pending_item rejects that the last pending item goes while the encounter is %s',
    async (status) => {
      const [id, other] = [await newEncounter(status), await newEncounter(status)];
      const removal = `DELETE FROM gfe_item WHERE tenant_id = 'a' AND encounter_id = '${id}'`;
      const transfer = change('gfe_item', `encounter_id = '${other}', category_id = '${clinic}'`, id);
      const decision = change('gfe_item', `status = 'approved', decided_at = ${at}`, id);
      for (const statement of [removal, transfer, decision]) {
        expect(await refusal(statement)).toBe('gfe_item_open_has_pending_item');
      }
    },
  );

  it('allow a decision while another item is pending', async () => {
    const id = await newEncounter('in_review');
    const decision = change('gfe_item', `status = 'approved', decided_at = ${at}`, id);
    const another = itemRow(id, { ...pending, category_id: `'${clinic}'` });
    expect(await refusal(decision, another)).toBeUndefined();
  });

  it.each(final)('gfe_item_pending_of_open_encounter rejects a pending item of an encounter that is %s', async (status) => {
    const id = await newEncounter(status);
    expect(await refusal(itemRow(id, { ...pending, category_id: `'${clinic}'` }))).toBe('gfe_item_pending_of_open_encounter');
  });

  it('gfe_item_pending_of_open_encounter rejects that an encounter ends with a pending item', async () => {
    const id = await newEncounter('pending_review');
    const cancellation = change('encounter', `status = 'cancelled', cancelled_at = ${at}, cancel_reason = 'other'`, id);
    expect(await refusal(cancellation)).toBe('gfe_item_pending_of_open_encounter');
    expect(await refusal(cancellation, change('gfe_item', `status = 'cancelled'`, id))).toBeUndefined();
  });
});

describe('two tenants', () => {
  it('may use the same ids, each only once', async () => {
    const clinics = await client.query(`SELECT tenant_id FROM clinic WHERE id = '${clinic}' ORDER BY tenant_id`);
    expect(clinics.rows).toEqual([{ tenant_id: 'a' }, { tenant_id: 'b' }]);
    const id = await newEncounter('completed');
    const asB = { tenant_id: `'b'` };
    const copy = [encounterRow(id, 'completed', asB), itemRow(id, { ...itemColumnsOf.completed, ...asB }),
      orderRow(id, asB), lineRow(id, asB)];
    expect(await refusal(...copy)).toBeUndefined();
    expect(await refusal(...copy)).toBe('encounter_pkey');
  });

  it('may use the same numbers up to 100999, but not above', async () => {
    const numbered = (number: number, tenant: string): string[] => {
      const [id, own] = [v7(), { tenant_id: `'${tenant}'` }];
      return [encounterRow(id, 'completed', { encounter_no: `${number}`, ...own }),
        orderRow(id, { order_sequence: `${number}`, ...own }), lineRow(id, own)];
    };
    expect(await refusal(...numbered(100_999, 'a'), ...numbered(100_999, 'b'))).toBeUndefined();
    expect(await refusal(...numbered(100_999, 'a'))).toBe('encounter_tenant_id_encounter_no_key');
    expect(await refusal(...numbered(500_000, 'a'))).toBeUndefined();
    expect(await refusal(...numbered(500_000, 'b'))).toBe('encounter_encounter_no_real_key');
    const id = v7();
    const ordered = (number: number): string[] => [encounterRow(id, 'completed', { tenant_id: `'b'` }),
      orderRow(id, { order_sequence: `${number}`, tenant_id: `'b'` }), lineRow(id, { tenant_id: `'b'` })];
    expect(await refusal(...ordered(100_999))).toBe('order_tenant_id_order_sequence_key');
    expect(await refusal(...ordered(500_000))).toBe('order_order_sequence_real_key');
  });

  it('cannot reuse each other’s approvals', async () => {
    const [id, approved] = [v7(), await newEncounter('completed')];
    const item = { ...itemColumnsOf.completed, tenant_id: `'b'`, reused_from_encounter_id: `'${approved}'` };
    const rows = [encounterRow(id, 'completed', { tenant_id: `'b'` }), itemRow(id, item)];
    expect(await refusal(...rows)).toBe('gfe_item_tenant_id_reused_from_encounter_id_fkey');
  });
});
