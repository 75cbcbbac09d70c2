-- Statements read NULL where Prisma reads an empty list.
UPDATE "api_client" SET "allowed_clinic_ids" = '{}' WHERE "allowed_clinic_ids" IS NULL;
UPDATE "api_client" SET "allowed_pharmacy_ids" = '{}' WHERE "allowed_pharmacy_ids" IS NULL;
ALTER TABLE "api_client" ALTER COLUMN "allowed_clinic_ids" SET DEFAULT ARRAY[]::UUID[],
  ALTER COLUMN "allowed_pharmacy_ids" SET DEFAULT ARRAY[]::UUID[];
