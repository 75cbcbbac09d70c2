-- The filters of lists (D-292). A schedule without a time counts as its day in UTC. The cast depends on no setting.
CREATE FUNCTION "scheduled_instant"("day" TEXT, "at" TIMESTAMPTZ) RETURNS TIMESTAMPTZ LANGUAGE sql IMMUTABLE
  AS $$ SELECT coalesce("at", ("day" || 'T00:00:00Z')::timestamptz) $$;
CREATE INDEX "encounter_scheduled_idx" ON "encounter"("tenant_id", "scheduled_instant"("scheduled_day", "scheduled_at"))
  WHERE "scheduled_day" IS NOT NULL;

-- Changed encounters, and those of one kind of review.
CREATE INDEX "encounter_tenant_id_updated_at_idx" ON "encounter"("tenant_id", "updated_at");
CREATE INDEX "encounter_tenant_id_review_type_created_at_encounter_no_idx"
  ON "encounter"("tenant_id", "review_type", "created_at", "encounter_no");

-- Orders with a line in one state, of the tenant and of one pharmacy.
CREATE INDEX "order_line_tenant_id_status_ordered_at_order_id_idx"
  ON "order_line"("tenant_id", "status", "ordered_at", "order_id");
CREATE INDEX "order_line_tenant_id_pharmacy_id_status_ordered_at_order_id_idx"
  ON "order_line"("tenant_id", "pharmacy_id", "status", "ordered_at", "order_id");
