ALTER TABLE "encounter" ADD COLUMN "ship_to" JSONB;
ALTER TABLE "order" ADD COLUMN "ship_to" JSONB;
