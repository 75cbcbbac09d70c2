-- Existing encounters get the state of the present patient and clinic. Reads go on; changes of encounters wait.
UPDATE "encounter" SET "is_state_derived" = true, "review_state" = (
  SELECT CASE WHEN patient.gfe_state_id IS NOT NULL THEN (SELECT code FROM ref_state WHERE id = patient.gfe_state_id)
    WHEN patient.state_id IS NOT NULL THEN (SELECT code FROM ref_state WHERE id = patient.state_id)
    ELSE (SELECT place.state FROM clinic_location AS place
      WHERE place.tenant_id = encounter.tenant_id AND place.clinic_id = encounter.clinic_id AND place.is_primary) END
  FROM client AS patient WHERE patient.tenant_id = encounter.tenant_id AND patient.id = encounter.patient_id);
