-- Existing encounters get the prescription of the present catalog, marked as derived, and the currency of their order, or
-- of the tenant. Reads go on; changes of encounters wait.
UPDATE "encounter_treatment" AS treatment SET "is_rx_derived" = true, "rx" = jsonb_build_object(
  'rxNumber', rx.rx_number, 'rxType', rx.rx_type, 'drugForm', rx.drug_form, 'drugStrength', rx.drug_strength,
  'directions', rx.directions, 'rxQty', rx.rx_qty, 'quantityUnitOfMeasureId', rx.quantity_unit_of_measure_id,
  'daysSupply', rx.days_supply, 'refills', rx.refills, 'deaScheduleId', rx.dea_schedule_id, 'daw', rx.daw,
  'refrigerationTypeId', rx.refrigeration_type_id, 'notes', rx.notes)
FROM "product_rx" AS rx
WHERE rx.tenant_id = treatment.tenant_id AND rx.product_id = treatment.product_id;
UPDATE "encounter" SET "currency" = coalesce(
  (SELECT currency FROM "order" WHERE "order".tenant_id = encounter.tenant_id AND "order".encounter_id = encounter.id),
  (SELECT currency FROM "tenant" WHERE tenant.id = encounter.tenant_id));
ALTER TABLE "encounter" ALTER COLUMN "currency" DROP DEFAULT;
