import type { Client } from 'pg';

/** SQL for names of three words: one that few names share, one of 997, and the kind. */
const name = (
  kind: string,
): string => `initcap(translate(substr(md5('${kind}' || n), 1, 6), '0123456789', 'ghijklmnop'))
  || ' ' || initcap(translate(substr(md5('${kind}' || n % 997), 7, 7), '0123456789', 'qrstuvwxyz')) || ' ${kind}'`;
const at = `timestamptz '2026-01-01' + n * interval '10 seconds'`;

/**
 * Fills an empty tenant with `rows` clinics, products, patients, encounters with an item, a treatment and an order,
 * keys and events, with one statement per table. Half of the patients have two encounters each, at one of up to 997
 * clinics; one encounter in a hundred waits for review, without an order. Half of the approvals have expired, which was
 * announced; those that expire soon were announced by gfe.expiring.
 */
export async function seedTenant(client: Client, tenantId: string, rows: number): Promise<void> {
  const one = (statement: string): Promise<unknown> =>
    client.query(statement.replaceAll(':tenant', `'${tenantId}'`).replaceAll(':rows', String(rows)));
  const id = (kind: string, number: string): string => `md5(:tenant || '${kind}' || ${number})::uuid`;
  // Use a prime number of clinics: otherwise all approvals of a clinic would end at the same time.
  const few = 'n / 2 % least(:rows, 997)';
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(`
    SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
    JOIN pg_class ON pg_class.oid = indrelid AND relnamespace = 'public'::regnamespace
    WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`);
  const { rows: keys } = await client.query<{ table: string; name: string; definition: string }>(`
    SELECT conrelid::regclass::text AS table, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
    FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace`);
  // Turn off triggers and foreign keys, which would take most of the time; foreign keys are checked at the end.
  await client.query(`SET session_replication_role = replica; SET maintenance_work_mem = '512MB'`);
  for (const { table, name: key } of keys) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${key}`);
  for (const { name: index } of indexes) await client.query(`DROP INDEX ${index}`);
  for (const statement of [
    `INSERT INTO api_client (id, tenant_id, client_id, name, permissions, allowed_clinic_ids, created_at, updated_at)
      VALUES (${id('api', '1')}, :tenant, :tenant, 'bench', '{}', '{}', now(), now())`,
    `INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active, created_at, updated_at)
      SELECT ${id('clinic', 'n')}, :tenant, ${name('Clinic')}, '', 'desk' || n || '@example.com', n % 10 > 0, ${at}, ${at}
      FROM generate_series(0, :rows - 1) n`,
    `INSERT INTO clinic_location (id, tenant_id, clinic_id, name, address1, city, state, postal, country, is_primary,
        is_active, created_at, updated_at)
      SELECT gen_random_uuid(), :tenant, ${id('clinic', 'n')}, '', '', '', CASE WHEN n % 500 = 0 THEN 'WY' ELSE 'TX' END,
        '', 'US', true, true, ${at}, ${at} FROM generate_series(0, :rows - 1) n`,
    `INSERT INTO category (id, tenant_id, category_name, review_often, review_recurring, created_at, updated_at)
      VALUES (${id('category', '1')}, :tenant, 'Category', 'YEARLY', true, now(), now())`,
    `INSERT INTO subcategory (id, tenant_id, category_id, sub_category_name, created_at, updated_at)
      VALUES (${id('subcategory', '1')}, :tenant, ${id('category', '1')}, 'Subcategory', now(), now())`,
    `INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, pharmacy_id, pharmacy_name,
        external_code, category_id, subcategory_id, created_at, updated_at)
      SELECT ${id('product', 'n')}, :tenant, 'SKU-' || n, ${name('Product')}, '', 1, n % 10 > 0, ${id('pharmacy', '1')}, '',
        '', ${id('category', '1')}, ${id('subcategory', '1')}, ${at}, ${at} FROM generate_series(0, :rows - 1) n`,
    `INSERT INTO product_offer (id, tenant_id, product_id, price, qty, qty_alert, shipping_type, shipping_amount,
        vendor_cost, cogs, created_at, updated_at)
      SELECT gen_random_uuid(), :tenant, ${id('product', 'n')}, 1, 1, 1, 'FREE_SHIPPING', 0, 0, 0, ${at}, ${at}
      FROM generate_series(0, :rows - 1) n`,
    `INSERT INTO client (id, tenant_id, first_name, last_name, email, date_of_birth, phone, country_code, is_verified,
        is_home_address_same_as_shipping, created_at, updated_at)
      SELECT ${id('client', 'n')}, :tenant, 'Jane', 'Miller', 'jane' || n || '@example.com', '1990-06-30', '5125550142',
        '+1', 'NOTVERIFIED', true, ${at}, ${at} FROM generate_series(0, :rows - 1) n`,
    `INSERT INTO encounter (id, tenant_id, status, clinic_id, patient_id, review_type, service_queue, sub_total,
        total_shipping_amt, grand_total, currency, claimable_from, expires_at, created_at, updated_at, completed_at)
      SELECT ${id('encounter', 'n')}, :tenant,
        (CASE WHEN n % 100 = 0 THEN 'pending_review' ELSE 'completed' END)::encounter_status, ${id('clinic', few)},
        ${id('client', 'n / 2')}, 'asynchronous', 'provider_network', 1, 0, 1, 'USD', t, timestamptz '2100-01-01', t, t,
        CASE WHEN n % 100 > 0 THEN t END
      FROM generate_series(0, :rows - 1) n, LATERAL (SELECT ${at} AS t) AS at`,
    `INSERT INTO encounter_treatment (id, tenant_id, encounter_id, product_id, position, sku, name, price, shipping_type,
        shipping_amount, pharmacy_id, pharmacy_name, category_id, category_name, subcategory_id, sub_category_name,
        patient_id, clinic_id, decision, decided_at)
      SELECT gen_random_uuid(), :tenant, ${id('encounter', 'n')}, ${id('product', 'n')}, 0, 'SKU-' || n, '', 1,
        'FREE_SHIPPING', 0, ${id('pharmacy', '1')}, '', ${id('category', '1')}, '', ${id('subcategory', '1')}, '',
        ${id('client', 'n / 2')}, ${id('clinic', few)}, CASE WHEN n % 100 > 0 THEN 'approved'::treatment_decision END,
        CASE WHEN n % 100 > 0 THEN ${at} END
      FROM generate_series(0, :rows - 1) n`,
    `INSERT INTO gfe_item (id, tenant_id, encounter_id, clinic_id, position, category_id, category_name, subcategory_id,
        sub_category_name, review_often, review_recurring, status, decided_at, valid_until, expiring_notified_at,
        expired_notified_at)
      SELECT ${id('item', 'n')}, :tenant, ${id('encounter', 'n')}, ${id('clinic', few)}, 0, ${id('category', '1')}, '',
        ${id('subcategory', '1')}, '', 'YEARLY', true,
        (CASE WHEN n % 100 = 0 THEN 'pending_review' ELSE 'approved' END)::gfe_item_status,
        CASE WHEN n % 100 > 0 THEN t END, CASE WHEN n % 100 > 0 THEN until END,
        CASE WHEN n % 100 > 0 AND n % 2 = 0 THEN t END, CASE WHEN n % 100 > 0 AND n % 10 > 4 THEN t END
      FROM generate_series(0, :rows - 1) n, LATERAL (SELECT ${at} AS t, CASE WHEN n % 10 > 4 THEN now() - interval '1 day'
        WHEN n % 2 = 0 THEN now() + interval '20 days' ELSE now() + interval '200 days' END AS until) AS at`,
    `INSERT INTO "order" (id, tenant_id, encounter_id, position, order_status, currency, sub_total, total_shipping_amt,
        grand_total, paid_amt, refunded_amt, balance_amt, refundable_amt, held_amt, created_at, updated_at, clinic_id)
      SELECT ${id('order', 'n')}, :tenant, ${id('encounter', 'n')}, 0, 'pending', 'USD', 1, 0, 1, 0, 0, 1, 0, 0, ${at}, ${at},
        ${id('clinic', few)}
      FROM generate_series(0, :rows - 1) n WHERE n % 100 > 0`,
    `INSERT INTO order_line (id, tenant_id, order_id, position, gfe_item_id, product_id, sku, name, quantity, unit_price,
        shipping_type, shipping_amt, line_total, pharmacy_id, pharmacy_name, status, ordered_at, updated_at)
      SELECT gen_random_uuid(), :tenant, ${id('order', 'n')}, 0, ${id('item', 'n')}, ${id('product', 'n')}, 'SKU-' || n, '', 1, 1,
        'FREE_SHIPPING', 0, 1, ${id('pharmacy', '1')}, '', 'pending', ${at}, ${at}
      FROM generate_series(0, :rows - 1) n WHERE n % 100 > 0`,
    `INSERT INTO event (id, tenant_id, position, type, clinic_id, pharmacy_ids, data, timestamp)
      SELECT gen_random_uuid(), :tenant, n + 1, 'encounter.created', ${id('clinic', few)}, '{}', '{}', ${at}
      FROM generate_series(0, :rows - 1) n`,
    `INSERT INTO event_counter VALUES (:tenant, :rows)`,
    `INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint, answer)
      SELECT :tenant, ${id('api', '1')}, 'createPatient', n, sha256(''), '{}' FROM generate_series(0, :rows - 1) n`,
  ])
    await one(statement);
  for (const { definition } of indexes) await client.query(definition);
  for (const { table, name: key, definition } of keys) {
    await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${key} ${definition}`);
  }
  await client.query('SET session_replication_role = origin');
  await client.query('VACUUM ANALYZE');
}
