-- Locks: ACCESS EXCLUSIVE event_counter; reads no row
-- Positions that a restore skipped (D-302).
ALTER TABLE "event_counter" ADD COLUMN "gap_start" BIGINT, ADD COLUMN "gap_end" BIGINT;
