-- Approvals can end before their time: superseded by a denial, revoked by a provider.
ALTER TYPE "gfe_item_status" ADD VALUE 'superseded';
ALTER TYPE "gfe_item_status" ADD VALUE 'revoked';
ALTER TYPE "event_type" ADD VALUE 'gfe.superseded' BEFORE 'order.created';
ALTER TYPE "event_type" ADD VALUE 'gfe.revoked' BEFORE 'order.created';

ALTER TABLE "gfe_item"
  ADD COLUMN "revoked_by" TEXT,
  ADD COLUMN "revocation_reason" TEXT;
ALTER TABLE "client" ADD COLUMN "medical_history_changed_at" TIMESTAMPTZ(3);

-- PostgreSQL refuses a new value of an enum in the transaction that adds it, so it is compared as text.
ALTER TABLE "gfe_item"
  DROP CONSTRAINT "gfe_item_decision",
  DROP CONSTRAINT "gfe_item_validity",
  DROP CONSTRAINT "gfe_item_reuse",
  ADD CONSTRAINT "gfe_item_decision"
    CHECK (("status"::text IN ('approved', 'denied', 'superseded', 'revoked')) = ("decided_at" IS NOT NULL)),
  ADD CONSTRAINT "gfe_item_validity"
    CHECK ("status"::text IN ('approved', 'superseded', 'revoked') OR "valid_until" IS NULL),
  -- An approval that ended before its time says when.
  ADD CONSTRAINT "gfe_item_end" CHECK ("status"::text NOT IN ('superseded', 'revoked') OR "valid_until" IS NOT NULL),
  ADD CONSTRAINT "gfe_item_reuse"
    CHECK ("status"::text IN ('approved', 'superseded', 'revoked') OR "reused_from_encounter_id" IS NULL),
  ADD CONSTRAINT "gfe_item_revocation"
    CHECK (("status"::text = 'revoked') = ("revocation_reason" IS NOT NULL)
      AND ("revocation_reason" IS NULL) = ("revoked_by" IS NULL));

DROP TRIGGER "gfe_item_final" ON "gfe_item";
CREATE TRIGGER "gfe_item_final" BEFORE UPDATE OF "status" ON "gfe_item" FOR EACH ROW
  WHEN (OLD."status" <> 'pending_review' AND NEW."status" <> OLD."status"
    AND NOT (OLD."status" = 'approved' AND NEW."status"::text IN ('superseded', 'revoked')))
  EXECUTE FUNCTION "refuse_final_change"();

-- Whoever changes the history cannot forget that approvals depend on it.
CREATE FUNCTION "note_history_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."medical_history_changed_at" := NEW."updated_at";
  RETURN NEW;
END $$;
CREATE TRIGGER "client_medical_history" BEFORE UPDATE OF "medical_history" ON "client" FOR EACH ROW
  WHEN (NEW."medical_history" IS DISTINCT FROM OLD."medical_history")
  EXECUTE FUNCTION "note_history_change"();

-- How long after its decision an approval may be reused.
ALTER TABLE "tenant"
  ADD COLUMN "gfe_reuse_months" INTEGER NOT NULL DEFAULT 12,
  ADD CONSTRAINT "tenant_gfe_reuse_months" CHECK ("gfe_reuse_months" BETWEEN 1 AND 12);
