-- The US state of an encounter is frozen at creation (R-107). Existing encounters get that of the present patient and clinic.
ALTER TABLE "encounter" ADD COLUMN "review_state" TEXT,
  ADD COLUMN "is_state_derived" BOOLEAN NOT NULL DEFAULT false;

UPDATE "encounter" SET "is_state_derived" = true, "review_state" = (
  SELECT CASE WHEN patient.gfe_state_id IS NOT NULL THEN (SELECT code FROM ref_state WHERE id = patient.gfe_state_id)
    WHEN patient.state_id IS NOT NULL THEN (SELECT code FROM ref_state WHERE id = patient.state_id)
    ELSE (SELECT place.state FROM clinic_location AS place
      WHERE place.tenant_id = encounter.tenant_id AND place.clinic_id = encounter.clinic_id AND place.is_primary) END
  FROM client AS patient WHERE patient.tenant_id = encounter.tenant_id AND patient.id = encounter.patient_id);

-- The review queue of one state, in the order of the queue.
CREATE INDEX "encounter_queue_state_idx"
  ON "encounter"("tenant_id", "service_queue", "review_state", coalesce("scheduled_at", "created_at"), "encounter_no")
  WHERE "status" = 'pending_review';
