-- No table is rewritten.
ALTER TABLE "encounter" ADD COLUMN "reference" TEXT, ADD COLUMN "metadata" JSONB;
