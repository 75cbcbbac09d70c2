-- Locks: ACCESS EXCLUSIVE encounter; reads no row
ALTER TABLE "encounter" ADD COLUMN "reference" TEXT, ADD COLUMN "metadata" JSONB;
