-- A replay reads the events of a time.
CREATE INDEX "event_tenant_id_timestamp_idx" ON "event"("tenant_id", "timestamp");
-- What failed is few among what was delivered.
CREATE INDEX "webhook_delivery_failed_idx" ON "webhook_delivery"("tenant_id", "endpoint_id", "id") WHERE "status" = 'failed';
