-- Locks: SHARE UPDATE EXCLUSIVE encounter; reads all rows
-- The latest decisions of a state and type of review, for the typical wait (R-241).
CREATE INDEX CONCURRENTLY IF NOT EXISTS "encounter_decided_idx"
  ON "encounter"("tenant_id", "review_state", "review_type", "completed_at")
  WHERE "reviewer_ref" IS NOT NULL;
