-- Reads go on until the last statement; new encounters and decisions wait.
LOCK TABLE "gfe_item" IN SHARE ROW EXCLUSIVE MODE;
-- CREATE INDEX refuses a table with deferred checks.
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE "gfe_item" AS item SET "clinic_id" = encounter.clinic_id FROM "encounter"
WHERE encounter.tenant_id = item.tenant_id AND encounter.id = item.encounter_id;
CREATE INDEX "gfe_item_clinic_renewal_idx" ON "gfe_item"("tenant_id", "clinic_id", "valid_until", "id")
  WHERE "status" = 'approved' AND "reused_from_encounter_id" IS NULL AND "valid_until" IS NOT NULL;
ALTER TABLE "gfe_item" ALTER COLUMN "clinic_id" DROP DEFAULT;
