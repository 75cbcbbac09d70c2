-- A client that is limited to clinics sees the patients that it created; null: from before this migration.
ALTER TABLE "client" ADD COLUMN "created_by_api_client_id" UUID;
ALTER TABLE "client" ADD CONSTRAINT "client_tenant_id_created_by_api_client_id_fkey"
  FOREIGN KEY ("tenant_id", "created_by_api_client_id") REFERENCES "api_client"("tenant_id", "id")
  ON DELETE RESTRICT ON UPDATE CASCADE;
