-- Providers with their licences, and tenants that want them.
ALTER TABLE "tenant" ADD COLUMN "require_licensed_provider" BOOLEAN NOT NULL DEFAULT false;
CREATE TABLE "provider" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "reviewer_ref" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "npi" TEXT NOT NULL,
    "is_active" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "provider_pkey" PRIMARY KEY ("tenant_id","id")
);
CREATE TABLE "provider_licence" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "provider_id" UUID NOT NULL,
    "state" TEXT NOT NULL,
    "number" TEXT NOT NULL,
    "expires_on" DATE NOT NULL,
    "asynchronous_allowed" BOOLEAN NOT NULL,

    CONSTRAINT "provider_licence_pkey" PRIMARY KEY ("tenant_id","id")
);
CREATE UNIQUE INDEX "provider_tenant_id_reviewer_ref_key" ON "provider"("tenant_id", "reviewer_ref");
CREATE UNIQUE INDEX "provider_licence_tenant_id_provider_id_state_number_key" ON "provider_licence"("tenant_id", "provider_id", "state", "number");
ALTER TABLE "provider" ADD CONSTRAINT "provider_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "provider_licence" ADD CONSTRAINT "provider_licence_tenant_id_provider_id_fkey" FOREIGN KEY ("tenant_id", "provider_id") REFERENCES "provider"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;
