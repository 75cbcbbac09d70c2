-- Locks: ROW EXCLUSIVE webhook_inbox; in batches
UPDATE webhook_inbox SET reason = 'timeout' WHERE tenant_id IN (
  SELECT tenant_id FROM webhook_inbox WHERE reason = 'unknown' LIMIT 2);
