-- How many requests a row stands for, if that is not one.
ALTER TABLE "audit_event" ADD COLUMN "count" INTEGER;
