-- Two more types of documents.
ALTER TABLE "document" DROP CONSTRAINT "document_doc_type",
  ADD CONSTRAINT "document_doc_type" CHECK ("doc_type" IN
    ('intake-forms', 'lab-results', 'id-card', 'gfe-forms', 'consent-forms', 'photos'));
-- A time zone alone is a constant of the caller's configuration, and no schedule.
ALTER TABLE "encounter" DROP CONSTRAINT "encounter_schedule",
  ADD CONSTRAINT "encounter_schedule"
    CHECK (("scheduled_day" IS NOT NULL OR "scheduled_time" IS NULL)
      AND (("scheduled_at" IS NULL) = ("scheduled_day" IS NULL OR "scheduled_time" IS NULL)));
