-- Locks: ROW EXCLUSIVE gfe_item; in batches
UPDATE "gfe_item" AS item SET "clinic_id" = encounter.clinic_id FROM "encounter"
WHERE encounter.tenant_id = item.tenant_id AND encounter.id = item.encounter_id
  AND (item.tenant_id, item.id) IN (
    SELECT tenant_id, id FROM "gfe_item" WHERE "clinic_id" = '00000000-0000-0000-0000-000000000000' LIMIT 2000);
