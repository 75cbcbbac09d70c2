-- Reads the table while requests go on.
ALTER TABLE "document" VALIDATE CONSTRAINT "document_withdrawn";
