-- Locks: ACCESS EXCLUSIVE gfe_item; reads no row
-- The clinic of an item's encounter, for the renewal list of a clinic (D-298). The next migration replaces the constant of
-- existing rows.
ALTER TABLE "gfe_item" ADD COLUMN "clinic_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
ALTER TABLE "gfe_item" ALTER COLUMN "clinic_id" DROP DEFAULT;

-- Servers of 1.1.0 do not know the column.
CREATE FUNCTION "fill_item_clinic"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT clinic_id INTO NEW."clinic_id" FROM "encounter" WHERE tenant_id = NEW."tenant_id" AND id = NEW."encounter_id";
  RETURN NEW;
END $$;
CREATE TRIGGER "gfe_item_clinic" BEFORE INSERT ON "gfe_item" FOR EACH ROW
  WHEN (NEW."clinic_id" IS NULL) EXECUTE FUNCTION "fill_item_clinic"();
