-- Locks: ACCESS EXCLUSIVE client; reads no row
-- The version of a patient's record, for If-Match (R-231, D-281). The time of its last change cannot tell two changes of one
-- millisecond apart. Facts that are counted in the row (R-210) change no field of the record, and do not set updated_at.
ALTER TABLE "client" ADD COLUMN "version" INTEGER NOT NULL DEFAULT 1;

CREATE FUNCTION "count_version"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."version" := OLD."version" + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER "client_version" BEFORE UPDATE OF "updated_at" ON "client" FOR EACH ROW EXECUTE FUNCTION "count_version"();
