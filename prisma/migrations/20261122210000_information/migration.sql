-- Encounters can wait for information that a provider asked for.
ALTER TYPE "encounter_status" ADD VALUE 'awaiting_information' AFTER 'in_review';
ALTER TYPE "event_type" ADD VALUE 'encounter.information_requested' BEFORE 'encounter.completed';
ALTER TYPE "event_type" ADD VALUE 'encounter.information_provided' BEFORE 'encounter.completed';
ALTER TYPE "event_type" ADD VALUE 'encounter.rescheduled' BEFORE 'encounter.completed';

ALTER TABLE "encounter" ADD COLUMN "visit_url" TEXT;
CREATE TABLE "encounter_information" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "encounter_id" UUID NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL,
    "reviewer_ref" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "provided_at" TIMESTAMPTZ(3),
    "additional_notes" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "encounter_information_pkey" PRIMARY KEY ("tenant_id","id")
);
CREATE INDEX "encounter_information_tenant_id_encounter_id_idx" ON "encounter_information"("tenant_id", "encounter_id");
ALTER TABLE "encounter_information" ADD CONSTRAINT "encounter_information_tenant_id_encounter_id_fkey" FOREIGN KEY ("tenant_id", "encounter_id") REFERENCES "encounter"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
-- One question at a time.
CREATE UNIQUE INDEX "encounter_information_open_key" ON "encounter_information"("tenant_id", "encounter_id")
  WHERE "provided_at" IS NULL;
ALTER TABLE "encounter_information"
  ADD CONSTRAINT "encounter_information_notes" CHECK ("provided_at" IS NOT NULL OR "additional_notes" IS NULL);

-- PostgreSQL refuses a new value of an enum in the transaction that adds it: checks compare it as text, and everything
-- else names the values that were there before.
ALTER TABLE "encounter"
  DROP CONSTRAINT "encounter_claim",
  ADD CONSTRAINT "encounter_claim"
    CHECK (CASE WHEN "status" = 'in_review' THEN "reviewer_ref" IS NOT NULL AND "claimed_at" IS NOT NULL
      WHEN "status"::text IN ('pending_review', 'awaiting_information')
        THEN "reviewer_ref" IS NULL AND "claimed_at" IS NULL
      ELSE true END),
  ADD CONSTRAINT "encounter_visit_url" CHECK ("status" = 'in_review' OR "visit_url" IS NULL);

DROP INDEX "encounter_expiry_idx";
CREATE INDEX "encounter_expiry_idx" ON "encounter"("expires_at")
  WHERE "status" NOT IN ('in_review', 'completed', 'denied', 'cancelled', 'expired');

DROP TRIGGER "encounter_final" ON "encounter";
CREATE TRIGGER "encounter_final" BEFORE UPDATE OF "status" ON "encounter" FOR EACH ROW
  WHEN (OLD."status" IN ('completed', 'denied', 'cancelled', 'expired') AND NEW."status" <> OLD."status")
  EXECUTE FUNCTION "refuse_final_change"();
DROP TRIGGER "encounter_open_has_pending_item" ON "encounter";
CREATE CONSTRAINT TRIGGER "encounter_open_has_pending_item" AFTER INSERT ON "encounter"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW."status" NOT IN ('completed', 'denied', 'cancelled', 'expired'))
  EXECUTE FUNCTION "require_pending_item"();

-- The phase of an encounter that waits for information is open, too.
ALTER TABLE "order" DROP CONSTRAINT "order_of_completed_encounter";
ALTER TABLE "gfe_item" DROP CONSTRAINT "gfe_item_pending_of_open_encounter";
DROP INDEX "encounter_phase_key";
ALTER TABLE "encounter" DROP COLUMN "phase";
ALTER TABLE "encounter"
  ADD COLUMN "phase" TEXT NOT NULL GENERATED ALWAYS AS (CASE
    WHEN "status" = 'completed' THEN 'completed'
    WHEN "status" IN ('denied', 'cancelled', 'expired') THEN 'closed'
    ELSE 'open' END) STORED;
CREATE UNIQUE INDEX "encounter_phase_key" ON "encounter"("tenant_id", "id", "phase");
ALTER TABLE "order"
  ADD CONSTRAINT "order_of_completed_encounter" FOREIGN KEY ("tenant_id", "encounter_id", "encounter_phase")
    REFERENCES "encounter"("tenant_id", "id", "phase");
ALTER TABLE "gfe_item"
  ADD CONSTRAINT "gfe_item_pending_of_open_encounter" FOREIGN KEY ("tenant_id", "encounter_id", "encounter_phase")
    REFERENCES "encounter"("tenant_id", "id", "phase") DEFERRABLE INITIALLY DEFERRED;
