-- Locks: none
-- The time that the filter of schedules compares (D-292). A schedule without a time counts as its day in UTC. The cast
-- depends on no setting.
CREATE FUNCTION "scheduled_instant"("day" TEXT, "at" TIMESTAMPTZ) RETURNS TIMESTAMPTZ LANGUAGE sql IMMUTABLE
  AS $$ SELECT coalesce("at", ("day" || 'T00:00:00Z')::timestamptz) $$;
