-- Locks: SHARE UPDATE EXCLUSIVE encounter; reads all rows
-- The encounters with one reference of the partner, in the order of the list (R-230).
CREATE INDEX CONCURRENTLY IF NOT EXISTS "encounter_reference_idx"
  ON "encounter"("tenant_id", "reference", "created_at", "encounter_no")
  WHERE "reference" IS NOT NULL;
