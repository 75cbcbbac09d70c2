-- Locks: SHARE UPDATE EXCLUSIVE document; reads all rows
-- The documents of one patient, in the order of the list (R-234).
CREATE INDEX CONCURRENTLY IF NOT EXISTS "document_tenant_id_patient_id_created_at_id_idx"
  ON "document"("tenant_id", "patient_id", "created_at", "id");
DROP INDEX CONCURRENTLY IF EXISTS "document_tenant_id_patient_id_idx";
