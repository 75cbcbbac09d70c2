-- Locks: SHARE UPDATE EXCLUSIVE gfe_item; reads all rows
-- The renewal list reads approvals by their end (R-225).
CREATE INDEX CONCURRENTLY IF NOT EXISTS "gfe_item_renewal_idx" ON "gfe_item"("tenant_id", "valid_until", "id")
  WHERE "status" = 'approved' AND "reused_from_encounter_id" IS NULL AND "valid_until" IS NOT NULL;
