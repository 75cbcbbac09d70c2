-- Positions that a restore skipped (D-302). No table is rewritten.
ALTER TABLE "event_counter" ADD COLUMN "gap_start" BIGINT, ADD COLUMN "gap_end" BIGINT;
