-- Locks: ACCESS EXCLUSIVE gfe_item; reads no row
-- The clinic of an item's encounter, for the renewal list of a clinic (D-298). The next migration replaces the constant of
-- existing rows.
ALTER TABLE "gfe_item" ADD COLUMN "clinic_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';

-- Servers of 1.1.0 do not know the column. They insert an encounter and its items by one statement, in which the encounter
-- may be the later row: the trigger runs after the statement.
CREATE FUNCTION "fill_item_clinic"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "gfe_item" SET "clinic_id" = encounter.clinic_id FROM "encounter"
  WHERE encounter.tenant_id = NEW."tenant_id" AND encounter.id = NEW."encounter_id"
    AND "gfe_item".tenant_id = NEW."tenant_id" AND "gfe_item".id = NEW."id";
  RETURN NULL;
END $$;
CREATE TRIGGER "gfe_item_clinic" AFTER INSERT ON "gfe_item" FOR EACH ROW
  WHEN (NEW."clinic_id" = '00000000-0000-0000-0000-000000000000') EXECUTE FUNCTION "fill_item_clinic"();
