-- The clinic of an item's encounter, for the renewal list of a clinic (D-298). A constant default adds the column without
-- reading the table; the next migration fills it in and drops the default.
ALTER TABLE "gfe_item" ADD COLUMN "clinic_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
