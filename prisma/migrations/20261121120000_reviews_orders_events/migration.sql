-- Reviews, orders, events and idempotency keys; primary keys by tenant. Like the first migration: Prisma's own diff of
-- schema.prisma, and by hand what Prisma cannot say. Release 1.0.0 made only encounters that wait for their review and
-- no order, so its rows satisfy every constraint below; a row changed by hand that does not is named by the failure.

-- Primary keys --------------------------------------------------------------------------------------------------------

-- Sandbox tenants share the ids of their fixtures, so a row is known by (tenant_id, id). The foreign keys stay on the
-- index that they have always used, which becomes the primary key's.
ALTER TABLE "clinic" DROP CONSTRAINT "clinic_pkey",
  ADD CONSTRAINT "clinic_pkey" PRIMARY KEY USING INDEX "clinic_tenant_id_id_key";
ALTER TABLE "clinic_location" DROP CONSTRAINT "clinic_location_pkey",
  ADD CONSTRAINT "clinic_location_pkey" PRIMARY KEY USING INDEX "clinic_location_tenant_id_id_key";
ALTER TABLE "category" DROP CONSTRAINT "category_pkey",
  ADD CONSTRAINT "category_pkey" PRIMARY KEY USING INDEX "category_tenant_id_id_key";
ALTER TABLE "subcategory" DROP CONSTRAINT "subcategory_pkey",
  ADD CONSTRAINT "subcategory_pkey" PRIMARY KEY USING INDEX "subcategory_tenant_id_id_key";
ALTER TABLE "product" DROP CONSTRAINT "product_pkey",
  ADD CONSTRAINT "product_pkey" PRIMARY KEY USING INDEX "product_tenant_id_id_key";
ALTER TABLE "product_rx" DROP CONSTRAINT "product_rx_pkey",
  ADD CONSTRAINT "product_rx_pkey" PRIMARY KEY USING INDEX "product_rx_tenant_id_id_key";
ALTER TABLE "product_offer" DROP CONSTRAINT "product_offer_pkey",
  ADD CONSTRAINT "product_offer_pkey" PRIMARY KEY USING INDEX "product_offer_tenant_id_id_key";
ALTER TABLE "offer_variant" DROP CONSTRAINT "offer_variant_pkey",
  ADD CONSTRAINT "offer_variant_pkey" PRIMARY KEY USING INDEX "offer_variant_tenant_id_id_key";
ALTER TABLE "clinic_availability" DROP CONSTRAINT "clinic_availability_pkey",
  ADD CONSTRAINT "clinic_availability_pkey" PRIMARY KEY USING INDEX "clinic_availability_tenant_id_id_key";
ALTER TABLE "client" DROP CONSTRAINT "client_pkey",
  ADD CONSTRAINT "client_pkey" PRIMARY KEY USING INDEX "client_tenant_id_id_key";
ALTER TABLE "document" DROP CONSTRAINT "document_pkey",
  ADD CONSTRAINT "document_pkey" PRIMARY KEY USING INDEX "document_tenant_id_id_key";
ALTER TABLE "encounter" DROP CONSTRAINT "encounter_pkey",
  ADD CONSTRAINT "encounter_pkey" PRIMARY KEY USING INDEX "encounter_tenant_id_id_key";
ALTER TABLE "encounter_treatment" DROP CONSTRAINT "encounter_treatment_pkey",
  ADD CONSTRAINT "encounter_treatment_pkey" PRIMARY KEY USING INDEX "encounter_treatment_tenant_id_id_key";
ALTER TABLE "gfe_item" DROP CONSTRAINT "gfe_item_pkey",
  ADD CONSTRAINT "gfe_item_pkey" PRIMARY KEY USING INDEX "gfe_item_tenant_id_id_key";
ALTER TABLE "order" DROP CONSTRAINT "order_pkey",
  ADD CONSTRAINT "order_pkey" PRIMARY KEY USING INDEX "order_tenant_id_id_key";

-- Numbers -------------------------------------------------------------------------------------------------------------

-- Unique in the tenant; and over all tenants, apart from 100001 to 100999, which the fixtures of all sandbox tenants
-- share (domain rule "Ids and numbers").
DROP INDEX "encounter_encounter_no_key", "encounter_gfe_no_key", "order_order_sequence_key", "order_order_no_key";
CREATE UNIQUE INDEX "encounter_tenant_id_encounter_no_key" ON "encounter"("tenant_id", "encounter_no");
CREATE UNIQUE INDEX "encounter_tenant_id_gfe_no_key" ON "encounter"("tenant_id", "gfe_no");
CREATE UNIQUE INDEX "order_tenant_id_order_sequence_key" ON "order"("tenant_id", "order_sequence");
CREATE UNIQUE INDEX "order_tenant_id_order_no_key" ON "order"("tenant_id", "order_no");
CREATE UNIQUE INDEX "encounter_encounter_no_real_key" ON "encounter"("encounter_no") WHERE "encounter_no" >= 101000;
CREATE UNIQUE INDEX "order_order_sequence_real_key" ON "order"("order_sequence") WHERE "order_sequence" >= 101000;

-- The next numbers are beyond the reserved ones, and still beyond every number given so far.
ALTER TABLE "encounter" ALTER COLUMN "encounter_no" SET START WITH 101000;
ALTER TABLE "order" ALTER COLUMN "order_sequence" SET START WITH 101000;
SELECT setval('encounter_encounter_no_seq', greatest(101000, last_value + is_called::int), false)
  FROM "encounter_encounter_no_seq";
SELECT setval('order_order_sequence_seq', greatest(101000, last_value + is_called::int), false)
  FROM "order_order_sequence_seq";

-- Columns -------------------------------------------------------------------------------------------------------------

CREATE TYPE "cancel_reason" AS ENUM ('partner_request', 'patient_request', 'patient_no_show', 'duplicate', 'clinically_inappropriate', 'other');
CREATE TYPE "event_type" AS ENUM ('patient.created', 'patient.verification_updated', 'document.created', 'encounter.created', 'encounter.review_started', 'encounter.released', 'encounter.completed', 'encounter.denied', 'encounter.cancelled', 'encounter.expired', 'gfe.expiring', 'gfe.expired', 'order.created', 'order.updated', 'order.paid', 'order.cancelled');

ALTER TABLE "tenant"
  ADD COLUMN "gfe_reuse" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "currency" TEXT NOT NULL DEFAULT 'USD',
  ADD COLUMN "clock_offset_ms" BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN "events_purged_xid" xid8 NOT NULL DEFAULT '0'::xid8,
  ADD COLUMN "events_purged_sequence" BIGINT NOT NULL DEFAULT 0;

ALTER TABLE "encounter"
  ADD COLUMN "lease_expires_at" TIMESTAMPTZ(3),
  ADD COLUMN "claimable_from" TIMESTAMPTZ(3),
  ADD COLUMN "visit_started_at" TIMESTAMPTZ(3),
  ADD COLUMN "visit_ended_at" TIMESTAMPTZ(3),
  ADD COLUMN "review_notes" TEXT,
  ALTER COLUMN "cancel_reason" TYPE "cancel_reason" USING "cancel_reason"::"cancel_reason";
-- As the service computes it for a new encounter.
UPDATE "encounter" SET "claimable_from" = CASE
  WHEN "review_type" = 'synchronous' AND "scheduled_at" IS NOT NULL THEN "scheduled_at" - interval '15 minutes'
  ELSE "created_at" END;
ALTER TABLE "encounter" ALTER COLUMN "claimable_from" SET NOT NULL;

ALTER TABLE "gfe_item"
  ADD COLUMN "review_often" TEXT,
  ADD COLUMN "review_recurring" BOOLEAN,
  ADD COLUMN "expiring_notified_at" TIMESTAMPTZ(3),
  ADD COLUMN "expired_notified_at" TIMESTAMPTZ(3);
-- The rule of that time was not kept; the category's present one is what a review today would go by.
UPDATE "gfe_item" AS i SET "review_often" = c."review_often", "review_recurring" = c."review_recurring"
  FROM "category" AS c WHERE c."tenant_id" = i."tenant_id" AND c."id" = i."category_id";
ALTER TABLE "gfe_item"
  ALTER COLUMN "review_often" SET NOT NULL,
  ALTER COLUMN "review_recurring" SET NOT NULL;

ALTER TABLE "order" ADD COLUMN "currency" TEXT;
UPDATE "order" AS o SET "currency" = t."currency" FROM "tenant" AS t WHERE t."id" = o."tenant_id";
ALTER TABLE "order" ALTER COLUMN "currency" SET NOT NULL;

-- Tables, indexes, foreign keys ---------------------------------------------------------------------------------------

CREATE TABLE "order_line" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "order_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "product_id" UUID NOT NULL,
    "sku" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "unit_price" DECIMAL(12,2) NOT NULL,
    "shipping_type" "shipping_type" NOT NULL,
    "shipping_amt" DECIMAL(12,2) NOT NULL,
    "line_total" DECIMAL(14,2) NOT NULL,
    "pharmacy_id" UUID NOT NULL,
    "pharmacy_name" TEXT NOT NULL,

    CONSTRAINT "order_line_pkey" PRIMARY KEY ("tenant_id","id")
);

CREATE TABLE "payment" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "order_id" UUID NOT NULL,
    "amount" DECIMAL(14,2) NOT NULL,
    "reference" TEXT,
    "api_client_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "payment_pkey" PRIMARY KEY ("tenant_id","id")
);

CREATE TABLE "event" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "sequence" BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
    "xid" xid8 NOT NULL DEFAULT pg_current_xact_id(),
    "type" "event_type" NOT NULL,
    "clinic_id" UUID,
    "data" JSONB NOT NULL,
    "timestamp" TIMESTAMPTZ(3) NOT NULL,
    "recorded_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "event_pkey" PRIMARY KEY ("tenant_id","id")
);

CREATE TABLE "idempotency_key" (
    "tenant_id" TEXT NOT NULL,
    "api_client_id" UUID NOT NULL,
    "operation_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "answer" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("tenant_id","api_client_id","operation_id","key")
);

CREATE UNIQUE INDEX "order_line_tenant_id_order_id_position_key" ON "order_line"("tenant_id", "order_id", "position");
CREATE UNIQUE INDEX "order_line_tenant_id_order_id_product_id_key" ON "order_line"("tenant_id", "order_id", "product_id");
CREATE INDEX "payment_tenant_id_order_id_idx" ON "payment"("tenant_id", "order_id");
CREATE INDEX "event_tenant_id_xid_sequence_idx" ON "event"("tenant_id", "xid", "sequence");
CREATE INDEX "event_recorded_at_idx" ON "event"("recorded_at");
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key"("created_at");
CREATE INDEX "encounter_tenant_id_created_at_encounter_no_idx" ON "encounter"("tenant_id", "created_at", "encounter_no");
CREATE INDEX "encounter_tenant_id_status_created_at_encounter_no_idx" ON "encounter"("tenant_id", "status", "created_at", "encounter_no");
CREATE INDEX "encounter_tenant_id_patient_id_created_at_encounter_no_idx" ON "encounter"("tenant_id", "patient_id", "created_at", "encounter_no");
CREATE INDEX "encounter_tenant_id_clinic_id_created_at_encounter_no_idx" ON "encounter"("tenant_id", "clinic_id", "created_at", "encounter_no");
CREATE INDEX "encounter_tenant_id_clinic_id_status_created_at_encounter_n_idx" ON "encounter"("tenant_id", "clinic_id", "status", "created_at", "encounter_no");

ALTER TABLE "gfe_item" ADD CONSTRAINT "gfe_item_tenant_id_reused_from_encounter_id_fkey" FOREIGN KEY ("tenant_id", "reused_from_encounter_id") REFERENCES "encounter"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "order_line" ADD CONSTRAINT "order_line_tenant_id_order_id_fkey" FOREIGN KEY ("tenant_id", "order_id") REFERENCES "order"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "payment" ADD CONSTRAINT "payment_tenant_id_order_id_fkey" FOREIGN KEY ("tenant_id", "order_id") REFERENCES "order"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "payment" ADD CONSTRAINT "payment_tenant_id_api_client_id_fkey" FOREIGN KEY ("tenant_id", "api_client_id") REFERENCES "api_client"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "idempotency_key" ADD CONSTRAINT "idempotency_key_tenant_id_api_client_id_fkey" FOREIGN KEY ("tenant_id", "api_client_id") REFERENCES "api_client"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma cannot say ----------------------------------------------------------------------------------------------

-- The review queue in its order: scheduled time (without one, creation), then number.
CREATE INDEX "encounter_queue_idx"
  ON "encounter"("tenant_id", "service_queue", coalesce("scheduled_at", "created_at"), "encounter_no")
  WHERE "status" = 'pending_review';
-- The sweeps over all tenants: lapsed claims, encounters that nobody reviewed, approvals whose time is over.
CREATE INDEX "encounter_lease_idx" ON "encounter"("lease_expires_at") WHERE "status" = 'in_review';
CREATE INDEX "encounter_expiry_idx" ON "encounter"("expires_at") WHERE "status" = 'pending_review';
CREATE INDEX "gfe_item_validity_idx" ON "gfe_item"("valid_until")
  WHERE "status" = 'approved' AND "valid_until" IS NOT NULL AND "reused_from_encounter_id" IS NULL
    AND "expired_notified_at" IS NULL;
-- For the foreign key of reused approvals. To find an approval to reuse needs no index of its own: the patient's
-- encounters are few, and their items are found by encounter, category and subcategory.
CREATE INDEX "gfe_item_reused_from_idx" ON "gfe_item"("tenant_id", "reused_from_encounter_id")
  WHERE "reused_from_encounter_id" IS NOT NULL;

ALTER TABLE "tenant"
  ADD CONSTRAINT "tenant_currency" CHECK ("currency" ~ '^[A-Z]{3}$'),
  -- Time runs ahead only in a sandbox, and never behind.
  ADD CONSTRAINT "tenant_clock" CHECK ("clock_offset_ms" >= 0 AND ("mode" = 'sandbox' OR "clock_offset_ms" = 0));
ALTER TABLE "idempotency_key"
  ADD CONSTRAINT "idempotency_key_sha256" CHECK (octet_length("fingerprint") = 32);

-- Domain rule "Encounter state machine", row by row.
ALTER TABLE "encounter"
  -- in_review ⇔ claim present; the claim of a finished review stays readable, a released one is gone.
  ADD CONSTRAINT "encounter_lease" CHECK (("status" = 'in_review') = ("lease_expires_at" IS NOT NULL)),
  ADD CONSTRAINT "encounter_claim"
    CHECK (CASE "status" WHEN 'in_review' THEN "reviewer_ref" IS NOT NULL AND "claimed_at" IS NOT NULL
      WHEN 'pending_review' THEN "reviewer_ref" IS NULL AND "claimed_at" IS NULL ELSE true END),
  -- A review that ended, and no other encounter, has a time of its end.
  ADD CONSTRAINT "encounter_completed" CHECK (("status" IN ('completed', 'denied')) = ("completed_at" IS NOT NULL)),
  ADD CONSTRAINT "encounter_cancelled"
    CHECK (("status" = 'cancelled') = ("cancelled_at" IS NOT NULL)
      AND ("status" = 'cancelled') = ("cancel_reason" IS NOT NULL)),
  ADD CONSTRAINT "encounter_visit"
    CHECK (("visit_started_at" IS NULL) = ("visit_ended_at" IS NULL) AND "visit_started_at" <= "visit_ended_at");

-- Domain rule "GFE items, validity, reuse, re-review".
ALTER TABLE "gfe_item"
  ADD CONSTRAINT "gfe_item_decision" CHECK (("status" IN ('approved', 'denied')) = ("decided_at" IS NOT NULL)),
  ADD CONSTRAINT "gfe_item_denial" CHECK (("status" = 'denied') = ("denial_reason" IS NOT NULL)),
  ADD CONSTRAINT "gfe_item_validity" CHECK ("status" = 'approved' OR "valid_until" IS NULL),
  ADD CONSTRAINT "gfe_item_reuse" CHECK ("status" = 'approved' OR "reused_from_encounter_id" IS NULL);

-- Domain rule "Orders and money". That an order's paid_amt is the sum of its payments, and its amounts those of its
-- lines, is not said here: it would cost a trigger that adds them up, and both are written in one place each.
ALTER TABLE "order_line"
  ADD CONSTRAINT "order_line_quantity" CHECK ("quantity" = 1),
  ADD CONSTRAINT "order_line_money"
    CHECK ("unit_price" >= 0 AND "shipping_amt" >= 0 AND "line_total" = "unit_price" + "shipping_amt"),
  ADD CONSTRAINT "order_line_shipping" CHECK ("shipping_type" <> 'FREE_SHIPPING' OR "shipping_amt" = 0);
ALTER TABLE "payment"
  ADD CONSTRAINT "payment_amount" CHECK ("amount" > 0);

-- Final states never change; that an approval ran out is computed from valid_until, not stored. The conditions are the
-- triggers' own, so that a lawful change calls no function.
CREATE FUNCTION "refuse_final_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a final status of "%" never changes', TG_TABLE_NAME
    USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
END $$;
CREATE TRIGGER "encounter_final" BEFORE UPDATE OF "status" ON "encounter" FOR EACH ROW
  WHEN (OLD."status" NOT IN ('pending_review', 'in_review') AND NEW."status" <> OLD."status")
  EXECUTE FUNCTION "refuse_final_change"();
CREATE TRIGGER "gfe_item_final" BEFORE UPDATE OF "status" ON "gfe_item" FOR EACH ROW
  WHEN (OLD."status" <> 'pending_review' AND NEW."status" <> OLD."status")
  EXECUTE FUNCTION "refuse_final_change"();

-- Invariants between rows. An encounter's phase is what its items and its order refer to. Changes of one transaction
-- pass through states that break them, so all but the order's are checked at its end.
ALTER TABLE "encounter"
  ADD COLUMN "phase" TEXT NOT NULL GENERATED ALWAYS AS (CASE
    WHEN "status" IN ('pending_review', 'in_review') THEN 'open'
    WHEN "status" = 'completed' THEN 'completed'
    ELSE 'closed' END) STORED,
  ADD COLUMN "completed_id" UUID GENERATED ALWAYS AS (CASE WHEN "status" = 'completed' THEN "id" END) STORED;
CREATE UNIQUE INDEX "encounter_phase_key" ON "encounter"("tenant_id", "id", "phase");
CREATE INDEX "encounter_completed_id_idx" ON "encounter"("tenant_id", "completed_id") WHERE "completed_id" IS NOT NULL;

-- An order ⇒ a completed encounter: denied, cancelled, expired and open ones have none.
ALTER TABLE "order"
  ADD COLUMN "encounter_phase" TEXT NOT NULL GENERATED ALWAYS AS ('completed') STORED,
  ADD CONSTRAINT "order_of_completed_encounter" FOREIGN KEY ("tenant_id", "encounter_id", "encounter_phase")
    REFERENCES "encounter"("tenant_id", "id", "phase");
-- Completed ⇒ an order (the unique index on it says: not two).
ALTER TABLE "encounter"
  ADD CONSTRAINT "encounter_completed_has_order" FOREIGN KEY ("tenant_id", "completed_id")
    REFERENCES "order"("tenant_id", "encounter_id") DEFERRABLE INITIALLY DEFERRED;
-- An order has a line: the one at position 0.
ALTER TABLE "order"
  ADD COLUMN "first_position" INTEGER NOT NULL GENERATED ALWAYS AS (0) STORED,
  ADD CONSTRAINT "order_has_line" FOREIGN KEY ("tenant_id", "id", "first_position")
    REFERENCES "order_line"("tenant_id", "order_id", "position") DEFERRABLE INITIALLY DEFERRED;

-- A pending item ⇒ an open encounter.
ALTER TABLE "gfe_item"
  ADD COLUMN "encounter_phase" TEXT GENERATED ALWAYS AS (CASE WHEN "status" = 'pending_review' THEN 'open' END) STORED,
  ADD CONSTRAINT "gfe_item_pending_of_open_encounter" FOREIGN KEY ("tenant_id", "encounter_id", "encounter_phase")
    REFERENCES "encounter"("tenant_id", "id", "phase") DEFERRABLE INITIALLY DEFERRED;
-- An open encounter ⇒ a pending item. "At least one" is beyond a foreign key. Only a new encounter, and one whose
-- pending item is decided, taken away or given to another encounter, can break it: an encounter never opens again.
-- Whoever decides items has updated the encounter's row before, so no two transactions do it at once.
CREATE FUNCTION "require_pending_item"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  of_tenant TEXT;
  of_encounter UUID;
BEGIN
  IF TG_TABLE_NAME = 'encounter' THEN
    of_tenant := NEW."tenant_id";
    of_encounter := NEW."id";
  ELSE
    of_tenant := OLD."tenant_id";
    of_encounter := OLD."encounter_id";
  END IF;
  IF EXISTS (SELECT FROM "encounter" WHERE "tenant_id" = of_tenant AND "id" = of_encounter AND "phase" = 'open')
    AND NOT EXISTS (SELECT FROM "gfe_item"
      WHERE "tenant_id" = of_tenant AND "encounter_id" = of_encounter AND "status" = 'pending_review') THEN
    RAISE EXCEPTION 'an encounter that waits for its review has no pending item'
      USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "encounter_open_has_pending_item" AFTER INSERT ON "encounter"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW."status" IN ('pending_review', 'in_review'))
  EXECUTE FUNCTION "require_pending_item"();
CREATE CONSTRAINT TRIGGER "gfe_item_open_has_pending_item" AFTER UPDATE OR DELETE ON "gfe_item"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD."status" = 'pending_review')
  EXECUTE FUNCTION "require_pending_item"();
