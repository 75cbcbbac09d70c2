-- Locks: SHARE UPDATE EXCLUSIVE document; reads all rows
ALTER TABLE "document" VALIDATE CONSTRAINT "document_withdrawn";
