import { checkSchema, migrate } from '../../src/adapters/database/migrations.js';
import {
  applyMigrations,
  database,
  databaseWith,
  dropDatabases,
  filledDatabase,
  migrationNames,
  rowsOf,
} from '../support/migrations.js';
import { createTestDatabase } from '../support/postgres.js';

afterEach(dropDatabases);

/** A database of 1.0.0 with three encounters and all records that belong to them. */
const databaseOf100 = filledDatabase(async (url) => {
  await applyMigrations(url, migrationNames.slice(0, 1));
  await rowsOf(url, rowsOf100);
});

const id = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const at = '2026-11-20T16:00:00.000Z';
const visitAt = '2026-12-01T15:00:00.000Z';
const encounterOf100 = (number: number, values: string): string => `
  INSERT INTO encounter (id, tenant_id, status, clinic_id, patient_id, review_type, scheduled_day, scheduled_time,
    scheduled_at, service_queue, sub_total, total_shipping_amt, grand_total, expires_at, created_at, updated_at)
  VALUES ('${id(number)}', 'lakeside', 'pending_review', '${id(1)}', '${id(2)}', ${values},
    'provider_network', 240, 15, 255, '2027-01-01', '${at}', '${at}');
  INSERT INTO encounter_treatment VALUES ('${id(number + 1)}', 'lakeside', '${id(number)}', '${id(5)}', 0, 'SKU-1',
    'Product', 240, 'FLAT_RATE', 15, '${id(6)}', 'Pharmacy', '${id(3)}', 'Category', '${id(4)}', 'Subcategory');
  INSERT INTO encounter_document VALUES ('lakeside', '${id(number)}', '${id(8)}', 0);
  INSERT INTO gfe_item (id, tenant_id, encounter_id, position, category_id, category_name, subcategory_id,
    sub_category_name, status)
  VALUES ('${id(number + 2)}', 'lakeside', '${id(number)}', 0, '${id(3)}', 'Category', '${id(4)}', 'Subcategory',
    'pending_review')`;
const rowsOf100 = `
  INSERT INTO tenant VALUES ('lakeside', 'Lakeside', 'live', true, '${at}', '${at}');
  INSERT INTO api_client VALUES
    ('${id(7)}', 'lakeside', 'ces_1', 'Partner', '{}', '{}', true, NULL, NULL, '${at}', '${at}');
  INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active, created_at, updated_at)
    VALUES ('${id(1)}', 'lakeside', 'Clinic', 'Clinic', 'clinic@example.com', true, '${at}', '${at}');
  INSERT INTO client (id, tenant_id, first_name, last_name, email, date_of_birth, phone, country_code, is_verified,
    is_home_address_same_as_shipping, created_at, updated_at)
    VALUES ('${id(2)}', 'lakeside', 'Jane', 'Miller', 'jane@example.com', '1990-06-30', '5125550142', '+1',
      'NOTVERIFIED', false, '${at}', '${at}');
  INSERT INTO category VALUES ('${id(3)}', 'lakeside', 'Category', 'MONTHLY', true, '${at}', NULL, '${at}', NULL);
  INSERT INTO subcategory VALUES ('${id(4)}', 'lakeside', '${id(3)}', 'Subcategory', '${at}', NULL, '${at}', NULL);
  INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, pharmacy_id, pharmacy_name,
    external_code, category_id, subcategory_id, created_at, updated_at)
    VALUES ('${id(5)}', 'lakeside', 'SKU-1', 'Product', '', 240, true, '${id(6)}', 'Pharmacy', 'EXT-1', '${id(3)}',
      '${id(4)}', '${at}', '${at}');
  INSERT INTO document VALUES ('${id(8)}', 'lakeside', '${id(2)}', 'lab-results', 'file', 'documents', 'blood.pdf',
    'application/pdf', 1, '', 'blood.pdf', 'blood.pdf', '${id(7)}', '${at}', '${at}');
  ${encounterOf100(10, `'synchronous', '2026-12-01', '09:00', '${visitAt}'`)};
  ${encounterOf100(20, `'asynchronous', '2026-12-01', '09:00', '${visitAt}'`)};
  ${encounterOf100(30, `'synchronous', NULL, NULL, NULL`)}`;

const tablesOf100 = [
  ...['tenant', 'api_client', 'clinic', 'client', 'category', 'subcategory', 'product', 'document'],
  ...['encounter', 'encounter_treatment', 'encounter_document', 'gfe_item'],
];
const contentOf = (url: string): Promise<Record<string, unknown>[]> => {
  const rows = (table: string) => `SELECT '${table}' AS table, to_jsonb(t) AS row FROM ${table} t ORDER BY t`;
  return rowsOf(url, tablesOf100.map((table) => `SELECT * FROM (${rows(table)}) AS ordered`).join(' UNION ALL '));
};

describe('the migration of reviews, orders and events', () => {
  const later = migrationNames.slice(1);
  const numberOf = (sequence: string) => `nextval('${sequence}_seq')::int`;
  const nextNumbers = (url: string): Promise<Record<string, unknown>[]> =>
    rowsOf(
      url,
      `SELECT ${numberOf('encounter_encounter_no')} AS encounter, ${numberOf('order_order_sequence')} AS order`,
    );

  it('keeps every row of 1.0.0, and validates the new constraints', async () => {
    const url = await databaseOf100();
    expect(await checkSchema(url)).toEqual({ state: 'behind', pending: later });
    const before = await contentOf(url);
    expect(before).toHaveLength(tablesOf100.length + 8);
    expect(await migrate(url)).toEqual(later);
    expect(await contentOf(url)).toMatchObject(before);
    expect(await rowsOf(url, 'SELECT conname FROM pg_constraint WHERE NOT convalidated')).toEqual([]);
  });

  it('fills the new columns with the values that a new encounter gets', async () => {
    const url = await databaseOf100();
    await migrate(url);
    expect(await rowsOf(url, 'SELECT claimable_from FROM encounter ORDER BY encounter_no')).toEqual([
      { claimable_from: new Date('2026-12-01T14:45:00.000Z') },
      { claimable_from: new Date(at) },
      { claimable_from: new Date(at) },
    ]);
    expect(await rowsOf(url, 'SELECT DISTINCT clinic_id, review_often, review_recurring FROM gfe_item')).toEqual([
      { clinic_id: id(1), review_often: 'MONTHLY', review_recurring: true },
    ]);
    expect(await rowsOf(url, 'SELECT gfe_reuse, currency, clock_offset_ms::int FROM tenant')).toEqual([
      { gfe_reuse: false, currency: 'USD', clock_offset_ms: 0 },
    ]);
  });

  it('raises the sequences above the numbers reserved for fixtures, and never decreases one', async () => {
    const [few, many] = [await databaseOf100(), await databaseOf100()];
    await rowsOf(many, `SELECT setval('encounter_encounter_no_seq', 250000)`);
    await rowsOf(many, `SELECT setval('order_order_sequence_seq', 250001)`);
    await Promise.all([migrate(few), migrate(many)]);
    expect(await nextNumbers(few)).toEqual([{ encounter: 101_000, order: 101_000 }]);
    expect(await nextNumbers(many)).toEqual([{ encounter: 250_001, order: 250_002 }]);
    expect(await nextNumbers(await database(createTestDatabase))).toEqual([{ encounter: 101_000, order: 101_000 }]);
  });
});

describe('the migration of the event counter', () => {
  it('numbers the events of each tenant in the order in which the feed listed them', async () => {
    const url = await databaseWith(migrationNames.slice(0, migrationNames.indexOf('20261122120000_event_counter')));
    const events = [
      ['a', 3, 9, 1],
      ['b', 4, 5, 2],
      ['b', 5, 6, 1],
      ['b', 6, 5, 7],
    ] as const;
    const values = events.map(
      ([tenant, number, xid, sequence]) =>
        `('${id(number)}', '${tenant}', 'order.paid', '{}', now(), '${xid}', ${sequence})`,
    );
    const columns = 'id, tenant_id, type, data, timestamp, xid, sequence';
    await rowsOf(url, `INSERT INTO event (${columns}) OVERRIDING SYSTEM VALUE VALUES ${values.join()}`);
    await migrate(url);
    expect(await rowsOf(url, 'SELECT id, position::int FROM event ORDER BY tenant_id, position')).toEqual([
      { id: id(3), position: 1 },
      { id: id(4), position: 1 },
      { id: id(6), position: 2 },
      { id: id(5), position: 3 },
    ]);
    expect(await rowsOf(url, 'SELECT tenant_id, position::int FROM event_counter ORDER BY tenant_id')).toEqual([
      { tenant_id: 'a', position: 1 },
      { tenant_id: 'b', position: 3 },
    ]);
  });
});

describe('the migration of fulfilment to the lines', () => {
  it('links each order line to the item of its treatment, and copies the fulfilment status of its pharmacy', async () => {
    const url = await databaseWithOrder();
    await migrate(url);
    const columns = 'position, gfe_item_id, status::text, carrier, shipped_at, ordered_at, updated_at';
    const shipped = { status: 'shipped', carrier: 'UPS', shipped_at: new Date(at), updated_at: new Date(at) };
    expect(await rowsOf(url, `SELECT ${columns} FROM order_line ORDER BY position`)).toEqual([
      { position: 0, gfe_item_id: id(12), ...shipped, ordered_at: new Date(visitAt) },
      { position: 1, gfe_item_id: id(14), ...shipped, ordered_at: new Date(visitAt) },
    ]);
  });
});

describe('the migration of holds', () => {
  const orders = 'SELECT order_status, held_amt::int FROM "order"';

  it('holds pending lines whose approval was revoked, and sets the expiry of prescription lines to the end of their approval', async () => {
    const url = await databaseWithOrder();
    await rowsOf(url, prescriptionOf(41));
    await rowsOf(
      url,
      `UPDATE fulfilment SET status = 'pending', carrier = NULL, shipped_at = NULL;
      UPDATE gfe_item SET valid_until = '${visitAt}', status = 'revoked', revoked_by = 'r', revocation_reason = 'Wrong.'
        WHERE id = '${id(12)}';
      UPDATE gfe_item SET valid_until = '${endAt}' WHERE id = '${id(14)}'`,
    );
    await migrate(url);
    expect(await rowsOf(url, 'SELECT hold_reason, hold_at, expires_at FROM order_line ORDER BY position')).toEqual([
      { hold_reason: 'revoked', hold_at: new Date(visitAt), expires_at: null },
      { hold_reason: null, hold_at: null, expires_at: new Date(endAt) },
    ]);
    expect(await rowsOf(url, orders)).toEqual([{ order_status: 'pending', held_amt: 240 }]);
  });

  it('does not hold shipped lines, and marks a fully paid order as paid again after a refund had made it pending', async () => {
    const url = await databaseWithOrder();
    await rowsOf(
      url,
      `UPDATE gfe_item SET valid_until = '${visitAt}', status = 'superseded' WHERE id = '${id(12)}';
      UPDATE "order" SET paid_at = '${at}', paid_amt = 100`,
    );
    await migrate(url);
    expect(await rowsOf(url, 'SELECT FROM order_line WHERE hold_at IS NOT NULL')).toEqual([]);
    expect(await rowsOf(url, orders)).toEqual([{ order_status: 'paid', held_amt: 0 }]);
  });
});

describe('the migration of prescriptions', () => {
  it('fills the prescription of existing treatments from the current catalog, marked as derived, and their currency', async () => {
    const url = await databaseWithOrder();
    await rowsOf(url, prescriptionOf(41));
    await rowsOf(url, `UPDATE "order" SET currency = 'CAD'; UPDATE tenant SET currency = 'EUR'`);
    await migrate(url);
    const rx = {
      directions: 'Once a week.',
      rxQty: 1,
      daysSupply: 28,
      refills: 2,
      deaScheduleId: id(50),
      rxNumber: null,
    };
    const treatments = 'SELECT DISTINCT product_id, rx, is_rx_derived FROM encounter_treatment ORDER BY product_id';
    expect(await rowsOf(url, treatments)).toEqual([
      { product_id: id(5), rx: null, is_rx_derived: false },
      { product_id: id(41), rx: expect.objectContaining(rx), is_rx_derived: true },
    ]);
    expect(await rowsOf(url, 'SELECT currency FROM encounter ORDER BY encounter_no')).toEqual([
      { currency: 'CAD' },
      { currency: 'EUR' },
      { currency: 'EUR' },
    ]);
  });
});

describe('the migration of the review state', () => {
  const codeOf = (code: string) => `(SELECT id FROM ref_state WHERE code = '${code}')`;

  it.each([
    ['gfeStateId', `gfe_state_id = ${codeOf('AZ')}, state_id = ${codeOf('NV')}`, 'AZ'],
    ['stateId without gfeStateId', `state_id = ${codeOf('NV')}`, 'NV'],
    ['the clinic without either', 'gfe_state_id = NULL', 'TX'],
    ['an unknown gfeStateId beside a known stateId', `gfe_state_id = '${id(99)}', state_id = ${codeOf('NV')}`, null],
  ])(
    'fills the review state of existing encounters from %s of the current patient, marked as derived',
    async (_name, set, state) => {
      const url = await databaseOf100();
      await rowsOf(
        url,
        `INSERT INTO clinic_location (id, tenant_id, clinic_id, name, address1, city, state, postal, country, is_primary,
        is_active, created_at, updated_at)
      VALUES ('${id(9)}', 'lakeside', '${id(1)}', 'Main', 'Main Street', 'Austin', 'TX', '78701', 'US', true, true,
        '${at}', '${at}');
      UPDATE client SET ${set}`,
      );
      await migrate(url);
      expect(await rowsOf(url, 'SELECT DISTINCT review_state, is_state_derived FROM encounter')).toEqual([
        { review_state: state, is_state_derived: true },
      ]);
    },
  );
});

describe('the migration of the reviewed identity', () => {
  it('fills the reviewed identity of existing reviews from the current patient, marked as derived', async () => {
    const url = await databaseWithOrder();
    await rowsOf(url, `UPDATE encounter SET reviewer_ref = 'r' WHERE id = '${id(10)}'`);
    await migrate(url);
    const identity = { firstName: 'Jane', lastName: 'Miller', dateOfBirth: '1990-06-30', guardian: null };
    expect(await rowsOf(url, 'SELECT reviewed_identity FROM encounter ORDER BY encounter_no')).toEqual([
      { reviewed_identity: { ...identity, isDerived: true } },
      { reviewed_identity: null },
      { reviewed_identity: null },
    ]);
  });
});

/** A database from before fulfilment per line, with an order. */
const databaseWithOrder = filledDatabase(async (url) => {
  await applyMigrations(url, migrationNames.slice(0, 1));
  await rowsOf(url, rowsOf100);
  await applyMigrations(url, migrationNames.slice(1, migrationNames.indexOf('20261125200000_line_fulfilment')));
  await rowsOf(url, orderOfTwoItems);
});

const endAt = '2027-11-20T16:00:00.000Z';
const prescriptionOf = (product: number): string => `
  INSERT INTO product_rx (id, tenant_id, product_id, directions, refills, dea_schedule_id, quantity_unit_of_measure_id,
    rx_qty, days_supply, refrigeration_type_id, created_at, updated_at)
  VALUES ('${id(42)}', 'lakeside', '${id(product)}', 'Once a week.', 2, '${id(50)}', '${id(51)}', 1, 28, '${id(52)}',
    '${at}', '${at}')`;

/** Completes an encounter of 1.0.0, and adds a treatment of a second item. Its order has two lines of one pharmacy. */
const orderOfTwoItems = `
  INSERT INTO subcategory VALUES ('${id(40)}', 'lakeside', '${id(3)}', 'Other', '${at}', NULL, '${at}', NULL);
  INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, pharmacy_id, pharmacy_name,
    external_code, category_id, subcategory_id, created_at, updated_at)
    VALUES ('${id(41)}', 'lakeside', 'SKU-2', 'Other', '', 240, true, '${id(6)}', 'Pharmacy', 'EXT-2', '${id(3)}',
      '${id(40)}', '${at}', '${at}');
  INSERT INTO encounter_treatment VALUES ('${id(13)}', 'lakeside', '${id(10)}', '${id(41)}', 1, 'SKU-2', 'Other', 240,
    'FLAT_RATE', 15, '${id(6)}', 'Pharmacy', '${id(3)}', 'Category', '${id(40)}', 'Other');
  INSERT INTO gfe_item (id, tenant_id, encounter_id, position, category_id, category_name, subcategory_id,
    sub_category_name, status, review_often, review_recurring)
  VALUES ('${id(14)}', 'lakeside', '${id(10)}', 1, '${id(3)}', 'Category', '${id(40)}', 'Other', 'pending_review',
    'MONTHLY', true);
  BEGIN;
  UPDATE encounter SET status = 'completed', completed_at = '${at}' WHERE id = '${id(10)}';
  UPDATE gfe_item SET status = 'approved', decided_at = '${at}' WHERE encounter_id = '${id(10)}';
  INSERT INTO "order" (id, tenant_id, encounter_id, clinic_id, order_status, currency, sub_total, total_shipping_amt,
    grand_total, paid_amt, created_at, updated_at)
  VALUES ('${id(15)}', 'lakeside', '${id(10)}', '${id(1)}', 'pending', 'USD', 480, 0, 480, 0, '${visitAt}', '${visitAt}');
  INSERT INTO order_line (id, tenant_id, order_id, position, product_id, sku, name, quantity, unit_price, shipping_type,
    shipping_amt, line_total, pharmacy_id, pharmacy_name)
  VALUES ('${id(16)}', 'lakeside', '${id(15)}', 0, '${id(5)}', 'SKU-1', 'Product', 1, 240, 'FREE_SHIPPING', 0, 240,
      '${id(6)}', 'Pharmacy'),
    ('${id(17)}', 'lakeside', '${id(15)}', 1, '${id(41)}', 'SKU-2', 'Product', 1, 240, 'FREE_SHIPPING', 0, 240,
      '${id(6)}', 'Pharmacy');
  INSERT INTO fulfilment VALUES
    ('lakeside', '${id(15)}', '${id(6)}', 'shipped', 'UPS', NULL, NULL, '${at}', '${visitAt}', '${at}');
  COMMIT`;
