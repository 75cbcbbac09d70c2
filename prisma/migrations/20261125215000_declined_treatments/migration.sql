-- No table is rewritten.
ALTER TABLE "gfe_item" ADD COLUMN "declined_treatment_ids" UUID[] DEFAULT ARRAY[]::uuid[], ADD COLUMN "rationale" TEXT;
