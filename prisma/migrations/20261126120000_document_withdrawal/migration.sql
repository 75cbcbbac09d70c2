-- Locks: ACCESS EXCLUSIVE document; reads no row
-- A withdrawn document has no link (R-233).
CREATE TYPE "withdrawal_reason" AS ENUM ('wrong_patient', 'superseded', 'illegible');
ALTER TYPE "event_type" ADD VALUE 'document.withdrawn' AFTER 'document.created';
ALTER TABLE "document"
  ADD COLUMN "withdrawn_at" TIMESTAMPTZ(3),
  ADD COLUMN "withdrawal_reason" "withdrawal_reason",
  ADD CONSTRAINT "document_withdrawn" CHECK (("withdrawn_at" IS NULL) = ("withdrawal_reason" IS NULL)) NOT VALID;
