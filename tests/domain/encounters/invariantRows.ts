import { v7 } from 'uuid';

// Valid rows of tenant "a" as SQL. Every value is an SQL expression.

const uuid = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const patient = uuid(2);
const category = uuid(3);
const subcategory = uuid(4);
const product = uuid(5);
const pharmacy = uuid(6);
export const clinic = uuid(1);
export const apiClient = uuid(7);
/** Only order lines use it. */
export const otherProduct = uuid(8);
export const at = `'2026-11-20T16:00:00Z'`;
export const later = `'2026-11-20T16:30:00Z'`;
const times = `${at}, ${at}`;

/** A tenant with the records that an encounter needs. */
export const tenantRows = [
  `INSERT INTO tenant (id, name, mode, created_at, updated_at) VALUES ('a', 'a', 'sandbox', ${times})`,
  `INSERT INTO api_client (id, tenant_id, client_id, name, created_at, updated_at)
    VALUES ('${apiClient}', 'a', 'a', 'x', ${times})`,
  `INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active, created_at, updated_at)
    VALUES ('${clinic}', 'a', 'x', 'x', 'x', true, ${times})`,
  `INSERT INTO client (id, tenant_id, first_name, last_name, email, date_of_birth, phone, country_code, is_verified,
      is_home_address_same_as_shipping, created_at, updated_at)
    VALUES ('${patient}', 'a', 'x', 'x', 'x', '1990-06-30', '1', '1', 'VERIFIED', false, ${times})`,
  `INSERT INTO category (id, tenant_id, category_name, review_often, review_recurring, created_at, updated_at)
    VALUES ('${category}', 'a', 'x', 'YEARLY', true, ${times})`,
  `INSERT INTO subcategory (id, tenant_id, category_id, sub_category_name, created_at, updated_at)
    VALUES ('${subcategory}', 'a', '${category}', 'x', ${times})`,
  `INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, pharmacy_id, pharmacy_name,
      external_code, category_id, subcategory_id, created_at, updated_at)
    VALUES ('${product}', 'a', 'x', 'x', 'x', 1, true, '${pharmacy}', 'x', 'x', '${category}', '${subcategory}', ${times})`,
];

export const open = ['pending_review', 'in_review', 'awaiting_information'] as const;
/** The statuses that never change. */
export const final = ['completed', 'denied', 'cancelled', 'expired'] as const;
export const statuses = [...open, ...final];
export type Status = (typeof statuses)[number];

/** The columns that a status requires. */
const columnsOf: Record<Status, Record<string, string>> = {
  pending_review: {},
  in_review: { reviewer_ref: `'NPI-1'`, claimed_at: at, lease_expires_at: later },
  awaiting_information: {},
  completed: { reviewer_ref: `'NPI-1'`, claimed_at: at, completed_at: at },
  denied: { reviewer_ref: `'NPI-1'`, claimed_at: at, completed_at: at },
  cancelled: { cancelled_at: at, cancel_reason: `'other'` },
  expired: {},
};
const pending = { status: `'pending_review'` };
export const itemColumnsOf: Record<Status, Record<string, string>> = {
  ...{ pending_review: pending, in_review: pending, awaiting_information: pending },
  completed: { status: `'approved'`, decided_at: at, valid_until: later },
  denied: { status: `'denied'`, decided_at: at, denial_reason: `'Allergy'` },
  cancelled: { status: `'cancelled'` },
  expired: { status: `'expired'` },
};

export const insert = (table: string, row: Record<string, string>): string =>
  `INSERT INTO "${table}" (${Object.keys(row).join(', ')}) OVERRIDING SYSTEM VALUE VALUES (${Object.values(row).join(', ')})`;

const text = (value: string): string => `'${value}'`;
const keyOf = (id: string = v7()) => ({ id: text(id), tenant_id: text('a') });
const partOf = (encounter: string) => ({ ...keyOf(), encounter_id: text(encounter) });
const record = { sub_total: '1', total_shipping_amt: '0', grand_total: '1', created_at: at, updated_at: at };

export const encounterRow = (id: string, status: Status, changes: Record<string, string> = {}): string =>
  insert('encounter', {
    ...keyOf(id),
    ...record,
    currency: text('USD'),
    status: text(status),
    clinic_id: text(clinic),
    patient_id: text(patient),
    review_type: text('asynchronous'),
    service_queue: text('provider_network'),
    expires_at: later,
    claimable_from: at,
    ...columnsOf[status],
    ...changes,
  });
/** The item has the id of its encounter. */
export const itemRow = (encounter: string, changes: Record<string, string>): string =>
  insert('gfe_item', {
    ...partOf(encounter),
    id: text(encounter),
    position: '0',
    category_id: text(category),
    category_name: text('x'),
    subcategory_id: text(subcategory),
    sub_category_name: text('x'),
    review_often: text('YEARLY'),
    review_recurring: 'true',
    clinic_id: text(clinic),
    ...changes,
  });
/** A provider's request for information. */
export const questionRow = (encounter: string, changes: Record<string, string> = {}): string =>
  insert('encounter_information', {
    ...partOf(encounter),
    requested_at: at,
    reviewer_ref: text('x'),
    message: text('x'),
    expires_at: later,
    ...changes,
  });
/** The order has the id of its encounter. */
export const orderRow = (encounter: string, changes: Record<string, string> = {}): string =>
  insert('order', {
    ...keyOf(encounter),
    ...record,
    encounter_id: text(encounter),
    clinic_id: text(clinic),
    order_status: text('pending'),
    position: '0',
    currency: text('USD'),
    paid_amt: '0',
    refunded_amt: '0',
    balance_amt: '1',
    refundable_amt: '0',
    held_amt: '0',
    ...changes,
  });
export const lineRow = (order: string, changes: Record<string, string> = {}): string =>
  insert('order_line', {
    ...keyOf(),
    order_id: text(order),
    position: '0',
    product_id: text(product),
    sku: text('x'),
    name: text('x'),
    quantity: '1',
    unit_price: '1',
    shipping_type: text('FLAT_RATE'),
    shipping_amt: '0',
    line_total: '1',
    pharmacy_id: text(pharmacy),
    pharmacy_name: text('x'),
    gfe_item_id: text(order),
    status: text('pending'),
    ordered_at: at,
    updated_at: at,
    ...changes,
  });

/** Updates the rows of the encounter or order with this id. */
export const change = (table: 'encounter' | 'order' | 'gfe_item', set: string, id: string): string =>
  `UPDATE "${table}" SET ${set} WHERE tenant_id = 'a' AND ${table === 'gfe_item' ? 'encounter_id' : 'id'} = '${id}'`;
