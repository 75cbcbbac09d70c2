ALTER TYPE "order_status" ADD VALUE 'refunded';
ALTER TYPE "event_type" ADD VALUE 'order.refunded';
ALTER TYPE "event_type" ADD VALUE 'order.fulfilment_updated';
CREATE TYPE "fulfilment_status" AS ENUM ('pending', 'accepted', 'shipped', 'delivered', 'exception', 'cancelled');

ALTER TABLE "api_client" ADD COLUMN "allowed_pharmacy_ids" UUID[];

-- Lists of a clinic's orders are read in their order from an index. PostgreSQL refuses a new value of an enum in the
-- transaction that adds it, so it is compared as text.
ALTER TABLE "order"
  ADD COLUMN "clinic_id" UUID,
  ADD COLUMN "cancel_reason" TEXT,
  ADD COLUMN "paid_at" TIMESTAMPTZ(3);
UPDATE "order" SET "clinic_id" = "encounter"."clinic_id",
    "paid_at" = CASE WHEN "order_status" = 'paid' AND "order"."grand_total" > 0 THEN "order"."updated_at" END
  FROM "encounter" WHERE "encounter"."tenant_id" = "order"."tenant_id" AND "encounter"."id" = "order"."encounter_id";
ALTER TABLE "order" ALTER COLUMN "clinic_id" SET NOT NULL,
  DROP CONSTRAINT "order_paid",
  ADD CONSTRAINT "order_paid"
    CHECK ("order_status"::text IN ('cancelled', 'refunded') OR ("order_status" = 'paid') = ("paid_amt" = "grand_total")),
  ADD CONSTRAINT "order_ended" CHECK ("order_status"::text NOT IN ('cancelled', 'refunded') OR "paid_amt" = 0);
CREATE INDEX "order_tenant_id_created_at_id_idx" ON "order"("tenant_id", "created_at", "id");
CREATE INDEX "order_tenant_id_order_status_created_at_id_idx" ON "order"("tenant_id", "order_status", "created_at", "id");
CREATE INDEX "order_tenant_id_clinic_id_created_at_id_idx" ON "order"("tenant_id", "clinic_id", "created_at", "id");

ALTER TABLE "payment"
  ADD COLUMN "refunded_amt" DECIMAL(14,2) NOT NULL DEFAULT 0,
  ADD CONSTRAINT "payment_refunded" CHECK ("refunded_amt" >= 0 AND "refunded_amt" <= "amount");
CREATE TABLE "refund" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "order_id" UUID NOT NULL,
    "payment_id" UUID NOT NULL,
    "amount" DECIMAL(14,2) NOT NULL,
    "reason" TEXT NOT NULL,
    "api_client_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refund_pkey" PRIMARY KEY ("tenant_id", "id"),
    CONSTRAINT "refund_amount" CHECK ("amount" > 0)
);
CREATE INDEX "refund_tenant_id_order_id_idx" ON "refund"("tenant_id", "order_id");
CREATE INDEX "refund_tenant_id_payment_id_idx" ON "refund"("tenant_id", "payment_id");
ALTER TABLE "refund" ADD CONSTRAINT "refund_tenant_id_order_id_fkey" FOREIGN KEY ("tenant_id", "order_id") REFERENCES "order"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "refund" ADD CONSTRAINT "refund_tenant_id_payment_id_fkey" FOREIGN KEY ("tenant_id", "payment_id") REFERENCES "payment"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "refund" ADD CONSTRAINT "refund_tenant_id_api_client_id_fkey" FOREIGN KEY ("tenant_id", "api_client_id") REFERENCES "api_client"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- At the end of a transaction that pays or refunds: what an order and its payments say is the sum of what there is.
CREATE FUNCTION "require_sums"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM "payment" WHERE "tenant_id" = NEW."tenant_id" AND "order_id" = NEW."order_id"
      AND "refunded_amt" <> (SELECT coalesce(sum("amount"), 0) FROM "refund"
        WHERE "tenant_id" = NEW."tenant_id" AND "payment_id" = "payment"."id"))
    OR (SELECT "paid_amt" FROM "order" WHERE "tenant_id" = NEW."tenant_id" AND "id" = NEW."order_id")
      <> (SELECT sum("amount" - "refunded_amt") FROM "payment"
        WHERE "tenant_id" = NEW."tenant_id" AND "order_id" = NEW."order_id") THEN
    RAISE EXCEPTION 'the sums of an order are not those of its payments and refunds'
      USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "payment_sums" AFTER INSERT OR UPDATE ON "payment" DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION "require_sums"();
CREATE CONSTRAINT TRIGGER "refund_sums" AFTER INSERT OR UPDATE ON "refund" DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION "require_sums"();

-- One for each pharmacy of an order.
CREATE TABLE "fulfilment" (
    "tenant_id" TEXT NOT NULL,
    "order_id" UUID NOT NULL,
    "pharmacy_id" UUID NOT NULL,
    "status" "fulfilment_status" NOT NULL,
    "carrier" TEXT,
    "tracking_number" TEXT,
    "reason" TEXT,
    "shipped_at" TIMESTAMPTZ(3),
    "ordered_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "fulfilment_pkey" PRIMARY KEY ("tenant_id", "order_id", "pharmacy_id")
);
CREATE INDEX "fulfilment_tenant_id_pharmacy_id_ordered_at_order_id_idx" ON "fulfilment"("tenant_id", "pharmacy_id", "ordered_at", "order_id");
ALTER TABLE "fulfilment" ADD CONSTRAINT "fulfilment_tenant_id_order_id_fkey" FOREIGN KEY ("tenant_id", "order_id") REFERENCES "order"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
INSERT INTO "fulfilment" ("tenant_id", "order_id", "pharmacy_id", "status", "ordered_at", "updated_at")
  SELECT DISTINCT "order"."tenant_id", "order"."id", "pharmacy_id", 'pending'::"fulfilment_status", "order"."created_at", "order"."created_at"
  FROM "order" JOIN "order_line" ON "order_line"."tenant_id" = "order"."tenant_id" AND "order_line"."order_id" = "order"."id";
