-- Locks: ACCESS EXCLUSIVE api_client, ACCESS EXCLUSIVE api_client_secret; reads no row
-- Cells (D-324): the known cells, and the tenants that have moved or are being moved.
CREATE TABLE "cell" (
    "name" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "object_store" TEXT NOT NULL,
    "is_own" BOOLEAN NOT NULL,
    CONSTRAINT "cell_pkey" PRIMARY KEY ("name")
);
CREATE UNIQUE INDEX "cell_own_key" ON "cell"("is_own") WHERE "is_own";

CREATE TYPE "tenant_place" AS ENUM ('leaving', 'closed', 'away', 'arriving', 'here');
CREATE TABLE "tenant_cell" (
    "tenant_id" TEXT NOT NULL,
    "cell" TEXT NOT NULL,
    "place" "tenant_place" NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "audit_through" BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "tenant_cell_pkey" PRIMARY KEY ("tenant_id")
);
ALTER TABLE "tenant_cell" ADD CONSTRAINT "tenant_cell_cell_fkey" FOREIGN KEY ("cell") REFERENCES "cell"("name")
  ON DELETE RESTRICT ON UPDATE CASCADE;

-- The filters of a move need tenant_id in the identity of each row.
ALTER TABLE "api_client" REPLICA IDENTITY USING INDEX "api_client_tenant_id_id_key";
ALTER TABLE "api_client_secret" REPLICA IDENTITY USING INDEX "api_client_secret_tenant_id_id_key";

-- The function of the triggers that a move creates for its tenant: waits for a change of the place, which waits for writers.
CREATE FUNCTION "require_tenant_here"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('cell ' || TG_ARGV[0], 0));
  IF EXISTS (SELECT FROM tenant_cell WHERE tenant_id = TG_ARGV[0] AND place IN ('closed', 'away', 'arriving')) THEN
    RAISE EXCEPTION 'the tenant is in another cell, or on its way' USING ERRCODE = 'CE503';
  END IF;
  RETURN COALESCE(NEW, OLD);
END
$$;
