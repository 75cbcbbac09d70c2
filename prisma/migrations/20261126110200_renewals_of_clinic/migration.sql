-- Locks: SHARE UPDATE EXCLUSIVE gfe_item; reads all rows
-- The renewal list of one clinic (D-298).
CREATE INDEX CONCURRENTLY IF NOT EXISTS "gfe_item_clinic_renewal_idx"
  ON "gfe_item"("tenant_id", "clinic_id", "valid_until", "id")
  WHERE "status" = 'approved' AND "reused_from_encounter_id" IS NULL AND "valid_until" IS NOT NULL;
