-- Keys are purged tenant by tenant.
DROP INDEX "idempotency_key_created_at_idx";
CREATE INDEX "idempotency_key_tenant_id_created_at_idx" ON "idempotency_key"("tenant_id", "created_at");
