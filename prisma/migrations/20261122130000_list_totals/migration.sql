-- How many clinics and products a tenant has: lists show it without counting.
ALTER TABLE "tenant"
  ADD COLUMN "active_clinics" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "inactive_clinics" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "active_products" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "inactive_products" INTEGER NOT NULL DEFAULT 0;
UPDATE "tenant" SET
  "active_clinics" = (SELECT count(*) FROM "clinic" WHERE "tenant_id" = "tenant"."id" AND "is_active"),
  "inactive_clinics" = (SELECT count(*) FROM "clinic" WHERE "tenant_id" = "tenant"."id" AND NOT "is_active"),
  "active_products" =
    (SELECT count(*) FROM "product" WHERE "tenant_id" = "tenant"."id" AND NOT "is_deleted" AND "is_active"),
  "inactive_products" =
    (SELECT count(*) FROM "product" WHERE "tenant_id" = "tenant"."id" AND NOT "is_deleted" AND NOT "is_active");

-- Once for each statement, whoever writes: rows that are gone count -1, rows that have come 1, changed ones both. The
-- tenant's row stays locked until the commit; only those wait who change the catalog of the same tenant.
CREATE FUNCTION "count_clinics"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "tenant" SET
    "active_clinics" = "active_clinics" + TG_ARGV[0]::int * "active",
    "inactive_clinics" = "inactive_clinics" + TG_ARGV[0]::int * "inactive"
  FROM (SELECT "tenant_id", count(*) FILTER (WHERE "is_active") AS "active",
      count(*) FILTER (WHERE NOT "is_active") AS "inactive" FROM "changed" GROUP BY "tenant_id") AS "counted"
  WHERE "id" = "tenant_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "clinic_added" AFTER INSERT ON "clinic" REFERENCING NEW TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "count_clinics"('1');
CREATE TRIGGER "clinic_removed" AFTER DELETE ON "clinic" REFERENCING OLD TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "count_clinics"('-1');
CREATE TRIGGER "clinic_changed_from" AFTER UPDATE ON "clinic" REFERENCING OLD TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "count_clinics"('-1');
CREATE TRIGGER "clinic_changed_to" AFTER UPDATE ON "clinic" REFERENCING NEW TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "count_clinics"('1');

CREATE FUNCTION "count_products"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "tenant" SET
    "active_products" = "active_products" + TG_ARGV[0]::int * "active",
    "inactive_products" = "inactive_products" + TG_ARGV[0]::int * "inactive"
  FROM (SELECT "tenant_id", count(*) FILTER (WHERE "is_active") AS "active",
      count(*) FILTER (WHERE NOT "is_active") AS "inactive" FROM "changed" WHERE NOT "is_deleted" GROUP BY "tenant_id")
    AS "counted"
  WHERE "id" = "tenant_id";
  RETURN NULL;
END $$;
CREATE TRIGGER "product_added" AFTER INSERT ON "product" REFERENCING NEW TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "count_products"('1');
CREATE TRIGGER "product_removed" AFTER DELETE ON "product" REFERENCING OLD TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "count_products"('-1');
CREATE TRIGGER "product_changed_from" AFTER UPDATE ON "product" REFERENCING OLD TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "count_products"('-1');
CREATE TRIGGER "product_changed_to" AFTER UPDATE ON "product" REFERENCING NEW TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "count_products"('1');

-- Each order of a list is that of an index, so that a page far back reads nothing else. The orders by name have what
-- short searches look at, too.
DROP INDEX "clinic_tenant_id_name_key_created_at_id_idx";
DROP INDEX "clinic_tenant_id_updated_at_created_at_id_idx";
CREATE INDEX "clinic_name_idx" ON "clinic"("tenant_id", "name_key", "created_at" DESC, "id", "email_key", "is_active");
CREATE INDEX "clinic_name_desc_idx" ON "clinic"("tenant_id", "name_key" DESC, "created_at" DESC, "id");
CREATE INDEX "clinic_created_desc_idx" ON "clinic"("tenant_id", "created_at" DESC, "id");
CREATE INDEX "clinic_updated_idx" ON "clinic"("tenant_id", "updated_at", "created_at" DESC, "id");
CREATE INDEX "clinic_updated_desc_idx" ON "clinic"("tenant_id", "updated_at" DESC, "created_at" DESC, "id");
DROP INDEX "product_tenant_id_is_deleted_name_key_created_at_id_idx";
DROP INDEX "product_tenant_id_is_deleted_updated_at_created_at_id_idx";
CREATE INDEX "product_name_idx"
  ON "product"("tenant_id", "is_deleted", "name_key", "created_at" DESC, "id", "sku_key", "is_active");
CREATE INDEX "product_name_desc_idx" ON "product"("tenant_id", "is_deleted", "name_key" DESC, "created_at" DESC, "id");
CREATE INDEX "product_sku_desc_idx" ON "product"("tenant_id", "is_deleted", "sku_key" DESC, "created_at" DESC, "id");
CREATE INDEX "product_created_desc_idx" ON "product"("tenant_id", "is_deleted", "created_at" DESC, "id");
CREATE INDEX "product_updated_idx" ON "product"("tenant_id", "is_deleted", "updated_at", "created_at" DESC, "id");
CREATE INDEX "product_updated_desc_idx"
  ON "product"("tenant_id", "is_deleted", "updated_at" DESC, "created_at" DESC, "id");

-- A search for three characters or more: all parts of three characters, each with its tenant, so that one list of rows
-- is read for each, which holds no other tenant's and is not as long as the tenant's catalog.
CREATE FUNCTION "search_keys"("tenant" TEXT, VARIADIC "texts" TEXT[]) RETURNS TEXT[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_agg("tenant" || ' ' || substr("text", "place", 3))
    FROM unnest("texts") AS "text", generate_series(1, length("text") - 2) AS "place"
  $$;
DROP INDEX "clinic_search_idx", "product_search_idx";
CREATE INDEX "clinic_search_idx" ON "clinic" USING gin ("search_keys"("tenant_id", "name_key", "email_key"));
CREATE INDEX "product_search_idx" ON "product" USING gin ("search_keys"("tenant_id", "name_key", "sku_key"));

CREATE INDEX "encounter_patient_clinic_idx"
  ON "encounter"("tenant_id", "patient_id", "clinic_id", "created_at", "encounter_no");
-- gfe.expiring: what has been announced is not read again with each sweep until its end.
CREATE INDEX "gfe_item_expiring_idx" ON "gfe_item"("valid_until")
  WHERE "status" = 'approved' AND "valid_until" IS NOT NULL AND "reused_from_encounter_id" IS NULL
    AND "expired_notified_at" IS NULL AND "expiring_notified_at" IS NULL;
