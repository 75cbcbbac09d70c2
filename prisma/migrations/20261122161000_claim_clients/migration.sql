-- Which API client a claim and a review came from; null: from before this migration, or a fixture of a sandbox.
ALTER TABLE "encounter" ADD COLUMN "claimed_by_id" UUID, ADD COLUMN "reviewed_by_id" UUID;
ALTER TABLE "encounter" ADD CONSTRAINT "encounter_tenant_id_claimed_by_id_fkey"
  FOREIGN KEY ("tenant_id", "claimed_by_id") REFERENCES "api_client"("tenant_id", "id")
  ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "encounter" ADD CONSTRAINT "encounter_tenant_id_reviewed_by_id_fkey"
  FOREIGN KEY ("tenant_id", "reviewed_by_id") REFERENCES "api_client"("tenant_id", "id")
  ON DELETE RESTRICT ON UPDATE CASCADE;
