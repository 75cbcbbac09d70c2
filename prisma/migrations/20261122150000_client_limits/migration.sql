-- Null: the limit of the server.
ALTER TABLE "api_client" ADD COLUMN "requests_per_minute" INTEGER CHECK ("requests_per_minute" > 0);
