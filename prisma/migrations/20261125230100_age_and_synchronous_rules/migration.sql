-- Constant defaults rewrite no row. Existing tenants keep admitting every age.
ALTER TABLE "tenant" ADD COLUMN "minimum_age" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "category" ADD COLUMN "min_age" INTEGER, ADD COLUMN "synchronous_only" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "product" ADD COLUMN "min_age" INTEGER, ADD COLUMN "synchronous_only" BOOLEAN NOT NULL DEFAULT false;
