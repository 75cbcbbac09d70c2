-- Defaults until the backfill: neither table is rewritten.
ALTER TABLE "encounter_treatment" ADD COLUMN "rx" JSONB, ADD COLUMN "is_rx_derived" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "encounter" ADD COLUMN "currency" TEXT NOT NULL DEFAULT 'USD';
