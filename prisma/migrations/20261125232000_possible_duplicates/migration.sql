-- A chart looks for other patients with the same birth date (R-212).
CREATE INDEX "client_tenant_id_date_of_birth_idx" ON "client"("tenant_id", "date_of_birth");
