-- One counter per patient grows with everything that a decision rests on, and an approval keeps the value at its decision
-- (R-50, D-240). It replaces the time of the last change of the medical history. A constant default adds a column without
-- reading the table; approvals from before have no value and are not reused.
DROP TRIGGER "client_medical_history" ON "client";
DROP FUNCTION "note_history_change"();
ALTER TABLE "client"
  DROP COLUMN "medical_history_changed_at",
  ADD COLUMN "facts_version" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "gfe_item" ADD COLUMN "facts_version" BIGINT;

-- The columns that a chart shows as facts. A statement that changes them cannot forget that approvals depend on them.
CREATE FUNCTION "count_facts"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."facts_version" := OLD."facts_version" + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER "client_facts" BEFORE UPDATE OF "first_name", "last_name", "date_of_birth", "sex", "state_id", "gfe_state_id",
    "medical_history", "notes", "insurance_info" ON "client" FOR EACH ROW
  WHEN ((NEW."first_name", NEW."last_name", NEW."date_of_birth", NEW."sex", NEW."state_id", NEW."gfe_state_id",
      NEW."medical_history", NEW."notes", NEW."insurance_info")
    IS DISTINCT FROM (OLD."first_name", OLD."last_name", OLD."date_of_birth", OLD."sex", OLD."state_id", OLD."gfe_state_id",
      OLD."medical_history", OLD."notes", OLD."insurance_info"))
  EXECUTE FUNCTION "count_facts"();
