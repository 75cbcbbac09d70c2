-- Locks: SHARE UPDATE EXCLUSIVE sweep_failure; reads all rows
CREATE INDEX CONCURRENTLY IF NOT EXISTS "sweep_failure_reason_idx" ON sweep_failure(tenant_id, reason);
