-- The job that removes objects without a row looks rows up by the key of their object, over all tenants.
CREATE INDEX "document_blob_path_idx" ON "document"("blob_path");
