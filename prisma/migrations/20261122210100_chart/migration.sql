-- What providers add to a review that is over, and who asked for a chart.
CREATE TABLE "encounter_addendum" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "encounter_id" UUID NOT NULL,
    "added_at" TIMESTAMPTZ(3) NOT NULL,
    "reviewer_ref" TEXT NOT NULL,
    "text" TEXT NOT NULL,

    CONSTRAINT "encounter_addendum_pkey" PRIMARY KEY ("tenant_id","id")
);
CREATE INDEX "encounter_addendum_tenant_id_encounter_id_idx" ON "encounter_addendum"("tenant_id", "encounter_id");
ALTER TABLE "encounter_addendum" ADD CONSTRAINT "encounter_addendum_tenant_id_encounter_id_fkey" FOREIGN KEY ("tenant_id", "encounter_id") REFERENCES "encounter"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "audit_event" ADD COLUMN "reviewer_ref" TEXT;
