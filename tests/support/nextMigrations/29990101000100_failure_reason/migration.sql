-- Locks: ACCESS EXCLUSIVE sweep_failure; reads no row
-- Constant defaults rewrite no row.
ALTER TABLE sweep_failure ADD COLUMN reason TEXT NOT NULL DEFAULT 'unknown';
-- Citus wants a statement for each constraint.
ALTER TABLE sweep_failure
  ADD CONSTRAINT sweep_failure_reason CHECK (reason <> '') NOT VALID;
