-- Existing reviews get the present identity, marked as derived. Reads go on; changes of encounters wait.
UPDATE "encounter" SET "reviewed_identity" = jsonb_build_object('firstName', client.first_name, 'lastName', client.last_name,
  'dateOfBirth', client.date_of_birth, 'guardian', client.guardian, 'isDerived', true)
FROM "client"
WHERE client.tenant_id = encounter.tenant_id AND client.id = encounter.patient_id AND encounter.completed_at IS NOT NULL
  AND encounter.reviewer_ref IS NOT NULL;
