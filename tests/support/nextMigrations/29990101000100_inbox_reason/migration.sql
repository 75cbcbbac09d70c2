-- Locks: ACCESS EXCLUSIVE webhook_inbox; reads no row
-- Constant defaults rewrite no row.
ALTER TABLE webhook_inbox ADD COLUMN reason TEXT NOT NULL DEFAULT 'unknown';
-- Citus wants a statement for each constraint.
ALTER TABLE webhook_inbox
  ADD CONSTRAINT webhook_inbox_reason CHECK (reason <> '') NOT VALID;
