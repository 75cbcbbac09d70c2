-- Rows of the audit are removed by the operator, whose role may delete them (R-88). The service writes seals, so a seal that
-- says what is removed must come from a role that may remove: else a forged one would hide that rows are missing.
DROP FUNCTION "remove_sealed_audit"(INTEGER);

CREATE FUNCTION "refuse_removal_seal"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF has_table_privilege(TG_RELID, 'DELETE') THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'only a role that may delete from % records a removal', TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER "audit_seal_removal" BEFORE INSERT ON "audit_seal" FOR EACH ROW WHEN (NEW."removes" IS NOT NULL)
  EXECUTE FUNCTION "refuse_removal_seal"();
