-- Who saw or did what, and the chain that shows whether a row was touched afterwards (R-87, R-88).
CREATE TABLE "audit_event" (
    "position" BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "tenant_id" TEXT,
    "client_id" TEXT,
    "operator" TEXT,
    "operation_id" TEXT NOT NULL,
    "resource_type" TEXT,
    "resource_id" TEXT,
    "patient_id" UUID,
    "status" INTEGER,
    "code" TEXT,
    "request_id" UUID,
    "ip" INET,
    "outcome" TEXT NOT NULL CHECK ("outcome" IN ('success', 'refused', 'failed')),

    CONSTRAINT "audit_event_pkey" PRIMARY KEY ("position")
);
-- For exports: rows come nearly in the order of their times.
CREATE INDEX "audit_event_at_idx" ON "audit_event" USING BRIN ("at");
CREATE INDEX "audit_event_tenant_id_position_idx" ON "audit_event"("tenant_id", "position");
-- Most rows of a busy tenant are about no single patient.
CREATE INDEX "audit_event_patient_idx" ON "audit_event"("tenant_id", "patient_id", "position")
  WHERE "patient_id" IS NOT NULL;

CREATE TABLE "audit_seal" (
    "number" BIGINT NOT NULL,
    "through" BIGINT NOT NULL,
    "removes" BIGINT,
    "digests" BYTEA NOT NULL,
    "hash" BYTEA NOT NULL,
    "sealed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_seal_pkey" PRIMARY KEY ("number")
);

CREATE FUNCTION "refuse_audit_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('audit.retention', true) = 'on' AND TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER "audit_event_append_only" BEFORE UPDATE OR DELETE ON "audit_event" FOR EACH ROW
  EXECUTE FUNCTION "refuse_audit_change"();
CREATE TRIGGER "audit_event_no_truncate" BEFORE TRUNCATE ON "audit_event" FOR EACH STATEMENT
  EXECUTE FUNCTION "refuse_audit_change"();
CREATE TRIGGER "audit_seal_append_only" BEFORE UPDATE OR DELETE ON "audit_seal" FOR EACH ROW
  EXECUTE FUNCTION "refuse_audit_change"();
CREATE TRIGGER "audit_seal_no_truncate" BEFORE TRUNCATE ON "audit_seal" FOR EACH STATEMENT
  EXECUTE FUNCTION "refuse_audit_change"();

-- The latest position below which no row can appear any more; null if writers take too long. An insertion locks the table
-- before it takes its position and holds that lock until it is committed, so those that held it after the position was
-- read are waited for. A lock of our own would make all writers wait, and wait for VACUUM.
CREATE FUNCTION "audit_horizon"() RETURNS BIGINT LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = public, pg_temp AS $$
DECLARE
  latest BIGINT := (SELECT last_value FROM audit_event_position_seq);
  here OID := (SELECT oid FROM pg_database WHERE datname = current_database());
  writers TEXT[] := ARRAY(SELECT virtualtransaction FROM pg_locks
    WHERE database = here AND relation = 'audit_event'::regclass AND mode = 'RowExclusiveLock' AND granted);
BEGIN
  FOR attempt IN 1..100 LOOP
    IF NOT EXISTS (SELECT FROM pg_locks WHERE database = here AND relation = 'audit_event'::regclass
      AND mode = 'RowExclusiveLock' AND virtualtransaction = ANY (writers)) THEN
      RETURN latest;
    END IF;
    PERFORM pg_sleep(0.01);
  END LOOP;
  RETURN NULL;
END $$;

-- Removes rows, a part at a time, whose removal is in the chain already; then the seals before it, which no row needs.
-- The only way for a role that may only insert and read.
CREATE FUNCTION "remove_sealed_audit"("most" INTEGER) RETURNS BIGINT LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = public, pg_temp SET "audit.retention" = 'on' AS $$
DECLARE
  anchor BIGINT := (SELECT max(removes) FROM audit_seal);
  removed BIGINT;
BEGIN
  DELETE FROM audit_event WHERE position IN (
    SELECT position FROM audit_event
    WHERE position <= (SELECT through FROM audit_seal WHERE number = anchor) ORDER BY position LIMIT most);
  GET DIAGNOSTICS removed = ROW_COUNT;
  IF removed < most THEN
    DELETE FROM audit_seal WHERE number < anchor;
  END IF;
  RETURN removed;
END $$;
