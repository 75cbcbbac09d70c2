-- Lines whose approval has ended are held (R-190), and a held line never ships.
CREATE TYPE "hold_reason" AS ENUM ('revoked', 'superseded', 'expired');
ALTER TYPE "event_type" ADD VALUE 'order.held' AFTER 'order.fulfilment_updated';
ALTER TABLE "order_line"
  ADD COLUMN "hold_reason" "hold_reason",
  ADD COLUMN "hold_at" TIMESTAMPTZ(3),
  ADD COLUMN "expires_at" TIMESTAMPTZ(3),
  ADD CONSTRAINT "order_line_hold" CHECK (("hold_reason" IS NULL) = ("hold_at" IS NULL)
    AND ("hold_at" IS NULL OR "status" NOT IN ('shipped', 'delivered') AND "expires_at" IS NULL)) NOT VALID;
ALTER TABLE "order" ADD COLUMN "held_amt" DECIMAL(14,2) NOT NULL DEFAULT 0;
-- A refund is not a debt (R-58), so only a pending order says how much of it is paid.
ALTER TABLE "order" DROP CONSTRAINT "order_paid",
  ADD CONSTRAINT "order_paid" CHECK ("order_status" <> 'pending' OR "paid_amt" < "grand_total") NOT VALID,
  ADD CONSTRAINT "order_held" CHECK ("held_amt" >= 0 AND "paid_amt" + "held_amt" <= "grand_total") NOT VALID;
