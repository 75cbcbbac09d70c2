-- Reads go on until the last statements; changes of orders wait.
LOCK TABLE "order_line", "fulfilment" IN SHARE ROW EXCLUSIVE MODE;
UPDATE "order_line" AS line SET "gfe_item_id" = item.id, "status" = part.status, "carrier" = part.carrier,
  "tracking_number" = part.tracking_number, "reason" = part.reason, "shipped_at" = part.shipped_at,
  "ordered_at" = part.ordered_at, "updated_at" = part.updated_at
FROM "order", "encounter_treatment" AS treatment, "gfe_item" AS item, "fulfilment" AS part
WHERE "order".tenant_id = line.tenant_id AND "order".id = line.order_id
  AND treatment.tenant_id = line.tenant_id AND treatment.encounter_id = "order".encounter_id
  AND treatment.product_id = line.product_id
  AND item.tenant_id = line.tenant_id AND item.encounter_id = "order".encounter_id
  AND item.category_id = treatment.category_id AND item.subcategory_id = treatment.subcategory_id
  AND part.tenant_id = line.tenant_id AND part.order_id = line.order_id AND part.pharmacy_id = line.pharmacy_id;
CREATE INDEX "order_line_tenant_id_gfe_item_id_idx" ON "order_line"("tenant_id", "gfe_item_id");
CREATE INDEX "order_line_tenant_id_pharmacy_id_ordered_at_order_id_idx" ON "order_line"("tenant_id", "pharmacy_id", "ordered_at", "order_id");
ALTER TABLE "order_line" ADD CONSTRAINT "order_line_tenant_id_gfe_item_id_fkey" FOREIGN KEY ("tenant_id", "gfe_item_id") REFERENCES "gfe_item"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "order_line" ALTER COLUMN "gfe_item_id" DROP DEFAULT, ALTER COLUMN "status" DROP DEFAULT,
  ALTER COLUMN "ordered_at" DROP DEFAULT, ALTER COLUMN "updated_at" DROP DEFAULT;
DROP TABLE "fulfilment";
-- Older servers need the table.
CREATE OR REPLACE FUNCTION "oldest_generation"() RETURNS INTEGER LANGUAGE sql IMMUTABLE AS 'SELECT 2';
