-- Fulfilment belongs to the line (R-124), and a line to the item whose approval produced it. Constant defaults add the
-- columns without reading the table; the next migration fills them in and drops the defaults.
ALTER TABLE "order_line"
  ADD COLUMN "gfe_item_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  ADD COLUMN "status" "fulfilment_status" NOT NULL DEFAULT 'pending',
  ADD COLUMN "carrier" TEXT,
  ADD COLUMN "tracking_number" TEXT,
  ADD COLUMN "reason" TEXT,
  ADD COLUMN "shipped_at" TIMESTAMPTZ(3),
  ADD COLUMN "ordered_at" TIMESTAMPTZ(3) NOT NULL DEFAULT '-infinity',
  ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT '-infinity';
