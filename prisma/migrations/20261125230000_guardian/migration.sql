ALTER TABLE "client" ADD COLUMN "guardian" JSONB;
