ALTER TABLE "encounter" ADD COLUMN "reviewed_identity" JSONB;
