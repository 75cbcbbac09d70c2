-- No table is rewritten.
ALTER TABLE "gfe_item" ADD COLUMN "declined_treatment_ids" UUID[] DEFAULT '{}', ADD COLUMN "rationale" TEXT;
