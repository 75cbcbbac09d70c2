-- Where each thousandth row of a long list is in each of its orders, from the first on: a page far back is counted from the
-- mark before it.
CREATE TABLE "list_mark" (
    "tenant_id" TEXT NOT NULL,
    "list" TEXT NOT NULL,
    "sort" TEXT NOT NULL,
    "before" INTEGER NOT NULL,
    "active_before" INTEGER NOT NULL,
    "id" UUID NOT NULL,

    CONSTRAINT "list_mark_pkey" PRIMARY KEY ("tenant_id", "list", "sort", "before")
);

-- Whatever changes a list clears its marks, after it has locked the tenant's row.
CREATE FUNCTION "clear_list_marks"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "list_mark" WHERE "tenant_id" = NEW."id" AND "list" = TG_ARGV[0];
  RETURN NULL;
END $$;
CREATE TRIGGER "clinic_marks_cleared" AFTER UPDATE OF "active_clinics", "inactive_clinics" ON "tenant"
  FOR EACH ROW EXECUTE FUNCTION "clear_list_marks"('clinic');
CREATE TRIGGER "product_marks_cleared" AFTER UPDATE OF "active_products", "inactive_products" ON "tenant"
  FOR EACH ROW EXECUTE FUNCTION "clear_list_marks"('product');

-- They are made anew at the commit, once for all changes of the transaction. The names of the triggers are in the order in
-- which they have to fire. The arguments: the list, the condition of its rows, its orders by the names that the service uses.
CREATE FUNCTION "make_list_marks"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE "order" TEXT;
BEGIN
  IF EXISTS (SELECT FROM "list_mark" WHERE "tenant_id" = NEW."id" AND "list" = TG_ARGV[0]) THEN RETURN NULL; END IF;
  FOREACH "order" IN ARRAY string_to_array(TG_ARGV[2], '; ') LOOP
    EXECUTE format('INSERT INTO "list_mark" SELECT $1, $2, $3, "before", "active_before", "id" FROM (
      SELECT "id", row_number() OVER "sorted" - 1 AS "before",
        count(*) FILTER (WHERE "is_active") OVER ("sorted" ROWS UNBOUNDED PRECEDING) - "is_active"::int AS "active_before"
      FROM %I WHERE "tenant_id" = $1 AND %s WINDOW "sorted" AS (ORDER BY %s)) AS "numbered"
      WHERE "before" %% 1000 = 0', TG_ARGV[0], TG_ARGV[1], "order")
      USING NEW."id", TG_ARGV[0], "order";
  END LOOP;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "clinic_marks_made" AFTER UPDATE OF "active_clinics", "inactive_clinics" ON "tenant"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW."active_clinics" + NEW."inactive_clinics" > 1000)
  EXECUTE FUNCTION "make_list_marks"('clinic', 'true',
    'name_key ASC, created_at DESC, id ASC; name_key DESC, created_at DESC, id ASC; created_at ASC, id ASC; '
    'created_at DESC, id ASC; updated_at ASC, created_at DESC, id ASC; updated_at DESC, created_at DESC, id ASC');
CREATE CONSTRAINT TRIGGER "product_marks_made" AFTER UPDATE OF "active_products", "inactive_products" ON "tenant"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW."active_products" + NEW."inactive_products" > 1000)
  EXECUTE FUNCTION "make_list_marks"('product', 'NOT is_deleted',
    'name_key ASC, created_at DESC, id ASC; name_key DESC, created_at DESC, id ASC; sku_key ASC, created_at DESC, id ASC; '
    'sku_key DESC, created_at DESC, id ASC; created_at ASC, id ASC; created_at DESC, id ASC; '
    'updated_at ASC, created_at DESC, id ASC; updated_at DESC, created_at DESC, id ASC');

-- At once: a table whose triggers wait cannot be altered by a migration that follows in the same transaction.
SET CONSTRAINTS "clinic_marks_made", "product_marks_made" IMMEDIATE;
UPDATE "tenant" SET "active_clinics" = "active_clinics", "active_products" = "active_products";
SET CONSTRAINTS "clinic_marks_made", "product_marks_made" DEFERRED;
