-- Locks: ROW EXCLUSIVE sweep_failure; in batches
UPDATE sweep_failure SET reason = 'timeout' WHERE (tenant_id, row_id) IN (
  SELECT tenant_id, row_id FROM sweep_failure WHERE reason = 'unknown' LIMIT 2);
