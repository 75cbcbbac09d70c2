-- Locks: SHARE UPDATE EXCLUSIVE webhook_inbox; reads all rows
CREATE INDEX CONCURRENTLY IF NOT EXISTS "webhook_inbox_reason_idx" ON webhook_inbox(tenant_id, reason);
