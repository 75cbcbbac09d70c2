import { newCategory, type Partner } from '../../support/factories.js';
import type { Harness } from '../../support/harness.js';

/** SQL expressions for the columns of clinic and product number n. */
type Column = 'clinicName' | 'email' | 'productName' | 'sku' | 'isActive' | 'createdAt' | 'updatedAt';
export type RowExpressions = Readonly<Record<Column, string> & { isDeleted?: string }>;

/**
 * Inserts `rows` clinics, each with a location, and `rows` products, each with an offer.
 * @param insert runs a statement, by default in a session of the service, which limits its time
 */
export async function insertRows(
  harness: Harness,
  partner: Partner,
  rows: number,
  { clinicName, email, productName, sku, isActive, isDeleted = 'false', createdAt, updatedAt }: RowExpressions,
  insert: (statement: string) => Promise<unknown> = (text) => harness.domain.db.prisma.$executeRawUnsafe(text),
): Promise<void> {
  const { categoryId, subcategoryId } = await newCategory(harness, partner);
  const start = `SELECT gen_random_uuid(), '${partner.tenantId}'`;
  const end = `${createdAt}, ${updatedAt} FROM generate_series(1, ${rows}) n`;
  await insert(`INSERT INTO clinic (id, tenant_id, legal_name, display_name, email, is_active, created_at, updated_at)
    ${start}, ${clinicName}, '', ${email}, ${isActive}, ${end}`);
  await insert(`INSERT INTO clinic_location (id, tenant_id, clinic_id, name, address1, city, state, postal, country,
      is_primary, is_active, created_at, updated_at)
    ${start}, id, '', '', '', 'TX', '', 'US', true, true, now(), now() FROM clinic WHERE tenant_id = '${partner.tenantId}'`);
  await insert(`INSERT INTO product (id, tenant_id, sku, name, description, unit_price, is_active, is_deleted,
      pharmacy_id, pharmacy_name, external_code, category_id, subcategory_id, created_at, updated_at)
    ${start}, ${sku}, ${productName}, '', 1, ${isActive}, ${isDeleted}, gen_random_uuid(), '', '',
      '${categoryId}', '${subcategoryId}', ${end}`);
  await insert(offersOf(partner));
}

/** A statement that inserts an offer for each product of a tenant. */
export const offersOf = ({ tenantId }: Pick<Partner, 'tenantId'>): string => `
  INSERT INTO product_offer (id, tenant_id, product_id, price, qty, qty_alert, shipping_type, shipping_amount,
    vendor_cost, cogs, created_at, updated_at)
  SELECT gen_random_uuid(), tenant_id, id, 1, 1, 1, 'FREE_SHIPPING', 0, 0, 0, now(), now() FROM product
  WHERE tenant_id = '${tenantId}'`;
