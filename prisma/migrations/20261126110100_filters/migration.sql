-- Locks: SHARE UPDATE EXCLUSIVE encounter, SHARE UPDATE EXCLUSIVE order_line; reads all rows
-- The filters of lists (D-292).
CREATE INDEX CONCURRENTLY IF NOT EXISTS "encounter_scheduled_idx"
  ON "encounter"("tenant_id", "scheduled_instant"("scheduled_day", "scheduled_at"))
  WHERE "scheduled_day" IS NOT NULL;

-- Changed encounters, and those of one kind of review.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "encounter_tenant_id_updated_at_idx" ON "encounter"("tenant_id", "updated_at");
CREATE INDEX CONCURRENTLY IF NOT EXISTS "encounter_tenant_id_review_type_created_at_encounter_no_idx"
  ON "encounter"("tenant_id", "review_type", "created_at", "encounter_no");

-- Orders with a line in one state, of the tenant and of one pharmacy.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "order_line_tenant_id_status_ordered_at_order_id_idx"
  ON "order_line"("tenant_id", "status", "ordered_at", "order_id");
CREATE INDEX CONCURRENTLY IF NOT EXISTS "order_line_tenant_id_pharmacy_id_status_ordered_at_order_id_idx"
  ON "order_line"("tenant_id", "pharmacy_id", "status", "ordered_at", "order_id");
