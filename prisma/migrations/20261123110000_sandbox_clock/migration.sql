-- The clock of a sandbox as it is when the lock is held: each statement of a volatile function sees what is committed by then.
CREATE FUNCTION "clock_under_lock"("tenant_id" TEXT, "lock" BIGINT) RETURNS BIGINT
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared("lock");
  RETURN (SELECT "clock_offset_ms" FROM "tenant" WHERE "id" = "tenant_id");
END $$;
