-- Reads go on until the last statement; changes of orders wait.
LOCK TABLE "order", "order_line" IN SHARE ROW EXCLUSIVE MODE;
-- Orders that a refund made pending again are paid (R-58).
UPDATE "order" SET "order_status" = 'paid' WHERE "order_status" = 'pending' AND "paid_at" IS NOT NULL;
UPDATE "order_line" AS line SET
  "hold_reason" = CASE WHEN item.status <> 'approved' THEN item.status::text::"hold_reason" END,
  "hold_at" = CASE WHEN item.status <> 'approved' THEN item.valid_until END,
  "expires_at" = CASE WHEN item.status = 'approved' THEN item.valid_until END
FROM "order", "gfe_item" AS item
WHERE "order".tenant_id = line.tenant_id AND "order".id = line.order_id AND "order".order_status IN ('pending', 'paid')
  AND item.tenant_id = line.tenant_id AND item.id = line.gfe_item_id AND line.status NOT IN ('shipped', 'delivered')
  AND (item.status IN ('superseded', 'revoked') OR item.status = 'approved' AND line.status = 'pending' AND EXISTS (
    SELECT FROM product_rx WHERE product_rx.tenant_id = line.tenant_id AND product_rx.product_id = line.product_id));
UPDATE "order" SET "held_amt" = least(held.total, "grand_total" - "paid_amt"),
  "order_status" = CASE WHEN held.total >= "grand_total" - "paid_amt" AND held.some_are_free
    THEN 'paid' ELSE "order_status" END
FROM (SELECT tenant_id, order_id, sum(line_total) FILTER (WHERE hold_at IS NOT NULL) AS total,
    bool_or(hold_at IS NULL) AS some_are_free
  FROM order_line GROUP BY tenant_id, order_id) AS held
WHERE held.tenant_id = "order".tenant_id AND held.order_id = "order".id AND held.total IS NOT NULL
  AND "order".order_status = 'pending';
CREATE INDEX "order_line_expires_at_idx" ON "order_line"("expires_at") WHERE "expires_at" IS NOT NULL;
CREATE INDEX "order_line_held_idx" ON "order_line"("tenant_id", "ordered_at", "order_id")
  WHERE "hold_at" IS NOT NULL OR "expires_at" IS NOT NULL;
ALTER TABLE "order_line" VALIDATE CONSTRAINT "order_line_hold";
ALTER TABLE "order" VALIDATE CONSTRAINT "order_paid", VALIDATE CONSTRAINT "order_held";
ALTER TABLE "order" DROP COLUMN "paid_at";
