-- The US state of an encounter is frozen at creation (R-107). The next migration fills it in: in one
-- transaction with this one, reads of encounters would wait for it.
ALTER TABLE "encounter" ADD COLUMN "review_state" TEXT,
  ADD COLUMN "is_state_derived" BOOLEAN NOT NULL DEFAULT false;
