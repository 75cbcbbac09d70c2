-- Everything that the interface's operations store. The tables are Prisma's own diff of schema.prisma; what Prisma cannot
-- say is written by hand: generated columns, identities, and the last part (checks, partial and trigram indexes, data).
-- Both extensions are "trusted": the database's owner may create them without being superuser.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- CreateEnum
CREATE TYPE "tenant_mode" AS ENUM ('live', 'sandbox');

-- CreateEnum
CREATE TYPE "sex" AS ENUM ('male', 'female', 'other');

-- CreateEnum
CREATE TYPE "verification_status" AS ENUM ('NOTVERIFIED', 'INVITED', 'VERIFIED');

-- CreateEnum
CREATE TYPE "shipping_type" AS ENUM ('FREE_SHIPPING', 'FLAT_RATE');

-- CreateEnum
CREATE TYPE "storage_provider" AS ENUM ('file', 's3');

-- CreateEnum
CREATE TYPE "review_type" AS ENUM ('synchronous', 'asynchronous');

-- CreateEnum
CREATE TYPE "service_queue" AS ENUM ('provider_network');

-- CreateEnum
CREATE TYPE "encounter_status" AS ENUM ('pending_review', 'in_review', 'completed', 'denied', 'cancelled', 'expired');

-- CreateEnum
CREATE TYPE "gfe_item_status" AS ENUM ('pending_review', 'approved', 'denied', 'cancelled', 'expired');

-- CreateEnum
CREATE TYPE "order_status" AS ENUM ('pending', 'paid', 'cancelled');

-- CreateTable
CREATE TABLE "tenant" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "mode" "tenant_mode" NOT NULL,
    "is_active" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "tenant_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_client" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "permissions" TEXT[],
    "allowed_clinic_ids" UUID[],
    "is_active" BOOLEAN NOT NULL DEFAULT true,
    "tokens_valid_after" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "api_client_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_client_secret" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "api_client_id" UUID NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "hint" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_client_secret_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "clinic" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "legal_name" TEXT NOT NULL,
    "display_name" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "is_active" BOOLEAN NOT NULL,
    "metadata" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "name_key" TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower("legal_name")) STORED,
    "email_key" TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower("email")) STORED,

    CONSTRAINT "clinic_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "clinic_location" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "clinic_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "address1" TEXT NOT NULL,
    "address2" TEXT,
    "city" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "postal" TEXT NOT NULL,
    "country" TEXT NOT NULL,
    "phone" TEXT,
    "timezone" TEXT,
    "is_primary" BOOLEAN NOT NULL,
    "is_active" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "clinic_location_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "category" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "category_name" TEXT NOT NULL,
    "review_often" TEXT NOT NULL,
    "review_recurring" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "created_by" UUID,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_by" UUID,

    CONSTRAINT "category_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "subcategory" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "category_id" UUID NOT NULL,
    "sub_category_name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "created_by" UUID,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_by" UUID,

    CONSTRAINT "subcategory_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "product" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "sku" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "unit_price" DECIMAL(12,2) NOT NULL,
    "is_active" BOOLEAN NOT NULL,
    "is_deleted" BOOLEAN NOT NULL DEFAULT false,
    "metadata" JSONB,
    "pharmacy_id" UUID NOT NULL,
    "pharmacy_name" TEXT NOT NULL,
    "external_code" TEXT NOT NULL,
    "category_id" UUID NOT NULL,
    "subcategory_id" UUID NOT NULL,
    "image_url" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "created_by" UUID,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_by" UUID,
    "name_key" TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower("name")) STORED,
    "sku_key" TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower("sku")) STORED,

    CONSTRAINT "product_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "product_rx" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "product_id" UUID NOT NULL,
    "rx_number" TEXT,
    "drug_form" TEXT,
    "drug_strength" TEXT,
    "directions" TEXT,
    "refills" INTEGER NOT NULL,
    "rx_type" TEXT,
    "dea_schedule_id" UUID NOT NULL,
    "quantity_unit_of_measure_id" UUID NOT NULL,
    "code_list_qualifier" TEXT,
    "rx_qty" INTEGER NOT NULL,
    "days_supply" INTEGER NOT NULL,
    "date_written" TEXT,
    "daw" TEXT,
    "requested_by" TEXT,
    "refrigeration_type_id" UUID NOT NULL,
    "notes" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "created_by" UUID,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_by" UUID,

    CONSTRAINT "product_rx_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "product_offer" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "product_id" UUID NOT NULL,
    "price" DECIMAL(12,2) NOT NULL,
    "qty" INTEGER NOT NULL,
    "qty_alert" INTEGER NOT NULL,
    "shipping_type" "shipping_type" NOT NULL,
    "shipping_amount" DECIMAL(12,2) NOT NULL,
    "vendor_cost" DECIMAL(12,2) NOT NULL,
    "cogs" DECIMAL(12,2) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "created_by" UUID,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_by" UUID,

    CONSTRAINT "product_offer_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "offer_variant" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "product_offer_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "sku" TEXT NOT NULL,
    "price" DECIMAL(12,2) NOT NULL,
    "qty" INTEGER NOT NULL,
    "is_active" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "offer_variant_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "clinic_availability" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "product_id" UUID NOT NULL,
    "clinic_id" UUID NOT NULL,
    "is_active" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "clinic_availability_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "client" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "first_name" TEXT NOT NULL,
    "last_name" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "email_key" TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower("email")) STORED,
    "date_of_birth" DATE NOT NULL,
    "sex" "sex",
    "phone" TEXT NOT NULL,
    "country_code" TEXT NOT NULL,
    "is_verified" "verification_status" NOT NULL,
    "address1" TEXT,
    "address2" TEXT,
    "city_id" UUID,
    "state_id" UUID,
    "country_id" UUID,
    "postal" TEXT,
    "metadata" JSONB,
    "timezone" TEXT,
    "locale" TEXT,
    "notes" TEXT,
    "emergency_contact" TEXT,
    "emergency_contact_code" TEXT,
    "emergency_contact_name" TEXT,
    "employer" TEXT,
    "work_mobile" TEXT,
    "marital_status" TEXT,
    "gfe_state_id" UUID,
    "profile_image_blob_path" TEXT,
    "is_home_address_same_as_shipping" BOOLEAN NOT NULL,
    "insurance_info" TEXT,
    "medical_history" TEXT,
    "verifier_job_id" TEXT,
    "verifier_invite_sent_date" TIMESTAMPTZ(3),
    "verifier_result_message" TEXT,
    "verifier_response_payload" JSONB,
    "verifier_reminder_count" INTEGER NOT NULL DEFAULT 0,
    "comms_user_id" TEXT,
    "account_is_active" BOOLEAN NOT NULL DEFAULT true,
    "account_is_temporary_password" BOOLEAN NOT NULL DEFAULT true,
    "account_otp_expires_at" TIMESTAMPTZ(3),
    "account_last_password_reset" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "client_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ref_state" (
    "id" UUID NOT NULL,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "country_id" UUID NOT NULL,

    CONSTRAINT "ref_state_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "document" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "patient_id" UUID NOT NULL,
    "doc_type" TEXT NOT NULL,
    "storage_provider" "storage_provider" NOT NULL,
    "container" TEXT NOT NULL,
    "blob_path" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "size_bytes" INTEGER NOT NULL,
    "checksum" TEXT NOT NULL,
    "file_name" TEXT NOT NULL,
    "original_filename" TEXT NOT NULL,
    "uploaded_by_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "document_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "encounter" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "encounter_no" BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH 100001),
    "gfe_no" TEXT NOT NULL GENERATED ALWAYS AS ('GFE-' || "encounter_no"::text) STORED,
    "status" "encounter_status" NOT NULL,
    "clinic_id" UUID NOT NULL,
    "patient_id" UUID NOT NULL,
    "review_type" "review_type" NOT NULL,
    "service_queue" "service_queue" NOT NULL,
    "additional_notes" TEXT,
    "scheduled_day" TEXT,
    "scheduled_time" TEXT,
    "scheduled_time_zone" TEXT,
    "scheduled_at" TIMESTAMPTZ(3),
    "sub_total" DECIMAL(14,2) NOT NULL,
    "total_shipping_amt" DECIMAL(14,2) NOT NULL,
    "grand_total" DECIMAL(14,2) NOT NULL,
    "reviewer_ref" TEXT,
    "claimed_at" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),
    "cancelled_at" TIMESTAMPTZ(3),
    "cancel_reason" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "encounter_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "encounter_treatment" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "encounter_id" UUID NOT NULL,
    "product_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "sku" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "price" DECIMAL(12,2) NOT NULL,
    "shipping_type" "shipping_type" NOT NULL,
    "shipping_amount" DECIMAL(12,2) NOT NULL,
    "pharmacy_id" UUID NOT NULL,
    "pharmacy_name" TEXT NOT NULL,
    "category_id" UUID NOT NULL,
    "category_name" TEXT NOT NULL,
    "subcategory_id" UUID NOT NULL,
    "sub_category_name" TEXT NOT NULL,

    CONSTRAINT "encounter_treatment_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "encounter_document" (
    "tenant_id" TEXT NOT NULL,
    "encounter_id" UUID NOT NULL,
    "document_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,

    CONSTRAINT "encounter_document_pkey" PRIMARY KEY ("tenant_id","encounter_id","document_id")
);

-- CreateTable
CREATE TABLE "gfe_item" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "encounter_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "category_id" UUID NOT NULL,
    "category_name" TEXT NOT NULL,
    "subcategory_id" UUID NOT NULL,
    "sub_category_name" TEXT NOT NULL,
    "status" "gfe_item_status" NOT NULL,
    "decided_at" TIMESTAMPTZ(3),
    "valid_until" TIMESTAMPTZ(3),
    "denial_reason" TEXT,
    "reused_from_encounter_id" UUID,

    CONSTRAINT "gfe_item_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "order" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "encounter_id" UUID NOT NULL,
    "order_sequence" BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH 100001),
    "order_no" TEXT NOT NULL GENERATED ALWAYS AS ('ORD-' || "order_sequence"::text) STORED,
    "order_status" "order_status" NOT NULL,
    "sub_total" DECIMAL(14,2) NOT NULL,
    "total_shipping_amt" DECIMAL(14,2) NOT NULL,
    "grand_total" DECIMAL(14,2) NOT NULL,
    "paid_amt" DECIMAL(14,2) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "order_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "api_client_client_id_key" ON "api_client"("client_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_client_tenant_id_id_key" ON "api_client"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "api_client_tenant_id_name_key" ON "api_client"("tenant_id", "name");

-- CreateIndex
CREATE INDEX "api_client_secret_tenant_id_api_client_id_idx" ON "api_client_secret"("tenant_id", "api_client_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_client_secret_tenant_id_id_key" ON "api_client_secret"("tenant_id", "id");

-- CreateIndex
CREATE INDEX "clinic_tenant_id_name_key_created_at_id_idx" ON "clinic"("tenant_id", "name_key", "created_at" DESC, "id");

-- CreateIndex
CREATE INDEX "clinic_tenant_id_created_at_id_idx" ON "clinic"("tenant_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "clinic_tenant_id_updated_at_created_at_id_idx" ON "clinic"("tenant_id", "updated_at", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "clinic_tenant_id_id_key" ON "clinic"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "clinic_tenant_id_name_key_email_key_key" ON "clinic"("tenant_id", "name_key", "email_key");

-- CreateIndex
CREATE INDEX "clinic_location_tenant_id_state_clinic_id_idx" ON "clinic_location"("tenant_id", "state", "clinic_id");

-- CreateIndex
CREATE UNIQUE INDEX "clinic_location_tenant_id_id_key" ON "clinic_location"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "clinic_location_tenant_id_clinic_id_name_key" ON "clinic_location"("tenant_id", "clinic_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "category_tenant_id_id_key" ON "category"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "category_tenant_id_category_name_key" ON "category"("tenant_id", "category_name");

-- CreateIndex
CREATE UNIQUE INDEX "subcategory_tenant_id_id_key" ON "subcategory"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "subcategory_tenant_id_category_id_id_key" ON "subcategory"("tenant_id", "category_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "subcategory_tenant_id_category_id_sub_category_name_key" ON "subcategory"("tenant_id", "category_id", "sub_category_name");

-- CreateIndex
CREATE INDEX "product_tenant_id_is_deleted_name_key_created_at_id_idx" ON "product"("tenant_id", "is_deleted", "name_key", "created_at" DESC, "id");

-- CreateIndex
CREATE INDEX "product_tenant_id_is_deleted_sku_key_created_at_id_idx" ON "product"("tenant_id", "is_deleted", "sku_key", "created_at" DESC, "id");

-- CreateIndex
CREATE INDEX "product_tenant_id_is_deleted_created_at_id_idx" ON "product"("tenant_id", "is_deleted", "created_at", "id");

-- CreateIndex
CREATE INDEX "product_tenant_id_is_deleted_updated_at_created_at_id_idx" ON "product"("tenant_id", "is_deleted", "updated_at", "created_at", "id");

-- CreateIndex
CREATE INDEX "product_tenant_id_category_id_idx" ON "product"("tenant_id", "category_id");

-- CreateIndex
CREATE UNIQUE INDEX "product_tenant_id_id_key" ON "product"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "product_rx_tenant_id_id_key" ON "product_rx"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "product_rx_tenant_id_product_id_key" ON "product_rx"("tenant_id", "product_id");

-- CreateIndex
CREATE UNIQUE INDEX "product_offer_tenant_id_id_key" ON "product_offer"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "product_offer_tenant_id_product_id_key" ON "product_offer"("tenant_id", "product_id");

-- CreateIndex
CREATE UNIQUE INDEX "offer_variant_tenant_id_id_key" ON "offer_variant"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "offer_variant_tenant_id_product_offer_id_sku_key" ON "offer_variant"("tenant_id", "product_offer_id", "sku");

-- CreateIndex
CREATE UNIQUE INDEX "clinic_availability_tenant_id_id_key" ON "clinic_availability"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "clinic_availability_tenant_id_product_id_clinic_id_key" ON "clinic_availability"("tenant_id", "product_id", "clinic_id");

-- CreateIndex
CREATE UNIQUE INDEX "client_tenant_id_id_key" ON "client"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "client_tenant_id_email_key_key" ON "client"("tenant_id", "email_key");

-- CreateIndex
CREATE UNIQUE INDEX "ref_state_country_id_code_key" ON "ref_state"("country_id", "code");

-- CreateIndex
CREATE INDEX "document_tenant_id_patient_id_idx" ON "document"("tenant_id", "patient_id");

-- CreateIndex
CREATE UNIQUE INDEX "document_tenant_id_id_key" ON "document"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "encounter_encounter_no_key" ON "encounter"("encounter_no");

-- CreateIndex
CREATE UNIQUE INDEX "encounter_gfe_no_key" ON "encounter"("gfe_no");

-- CreateIndex
CREATE UNIQUE INDEX "encounter_tenant_id_id_key" ON "encounter"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "encounter_treatment_tenant_id_id_key" ON "encounter_treatment"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "encounter_treatment_tenant_id_encounter_id_product_id_key" ON "encounter_treatment"("tenant_id", "encounter_id", "product_id");

-- CreateIndex
CREATE UNIQUE INDEX "gfe_item_tenant_id_id_key" ON "gfe_item"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "gfe_item_tenant_id_encounter_id_category_id_subcategory_id_key" ON "gfe_item"("tenant_id", "encounter_id", "category_id", "subcategory_id");

-- CreateIndex
CREATE UNIQUE INDEX "order_order_sequence_key" ON "order"("order_sequence");

-- CreateIndex
CREATE UNIQUE INDEX "order_order_no_key" ON "order"("order_no");

-- CreateIndex
CREATE UNIQUE INDEX "order_tenant_id_id_key" ON "order"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "order_tenant_id_encounter_id_key" ON "order"("tenant_id", "encounter_id");

-- AddForeignKey
ALTER TABLE "api_client" ADD CONSTRAINT "api_client_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_client_secret" ADD CONSTRAINT "api_client_secret_tenant_id_api_client_id_fkey" FOREIGN KEY ("tenant_id", "api_client_id") REFERENCES "api_client"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "clinic" ADD CONSTRAINT "clinic_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "clinic_location" ADD CONSTRAINT "clinic_location_tenant_id_clinic_id_fkey" FOREIGN KEY ("tenant_id", "clinic_id") REFERENCES "clinic"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "category" ADD CONSTRAINT "category_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subcategory" ADD CONSTRAINT "subcategory_tenant_id_category_id_fkey" FOREIGN KEY ("tenant_id", "category_id") REFERENCES "category"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "product" ADD CONSTRAINT "product_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "product" ADD CONSTRAINT "product_tenant_id_category_id_fkey" FOREIGN KEY ("tenant_id", "category_id") REFERENCES "category"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "product" ADD CONSTRAINT "product_tenant_id_category_id_subcategory_id_fkey" FOREIGN KEY ("tenant_id", "category_id", "subcategory_id") REFERENCES "subcategory"("tenant_id", "category_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "product_rx" ADD CONSTRAINT "product_rx_tenant_id_product_id_fkey" FOREIGN KEY ("tenant_id", "product_id") REFERENCES "product"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "product_offer" ADD CONSTRAINT "product_offer_tenant_id_product_id_fkey" FOREIGN KEY ("tenant_id", "product_id") REFERENCES "product"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "offer_variant" ADD CONSTRAINT "offer_variant_tenant_id_product_offer_id_fkey" FOREIGN KEY ("tenant_id", "product_offer_id") REFERENCES "product_offer"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "clinic_availability" ADD CONSTRAINT "clinic_availability_tenant_id_product_id_fkey" FOREIGN KEY ("tenant_id", "product_id") REFERENCES "product"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "clinic_availability" ADD CONSTRAINT "clinic_availability_tenant_id_clinic_id_fkey" FOREIGN KEY ("tenant_id", "clinic_id") REFERENCES "clinic"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "client" ADD CONSTRAINT "client_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document" ADD CONSTRAINT "document_tenant_id_patient_id_fkey" FOREIGN KEY ("tenant_id", "patient_id") REFERENCES "client"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document" ADD CONSTRAINT "document_tenant_id_uploaded_by_id_fkey" FOREIGN KEY ("tenant_id", "uploaded_by_id") REFERENCES "api_client"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "encounter" ADD CONSTRAINT "encounter_tenant_id_clinic_id_fkey" FOREIGN KEY ("tenant_id", "clinic_id") REFERENCES "clinic"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "encounter" ADD CONSTRAINT "encounter_tenant_id_patient_id_fkey" FOREIGN KEY ("tenant_id", "patient_id") REFERENCES "client"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "encounter_treatment" ADD CONSTRAINT "encounter_treatment_tenant_id_encounter_id_fkey" FOREIGN KEY ("tenant_id", "encounter_id") REFERENCES "encounter"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "encounter_treatment" ADD CONSTRAINT "encounter_treatment_tenant_id_product_id_fkey" FOREIGN KEY ("tenant_id", "product_id") REFERENCES "product"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "encounter_document" ADD CONSTRAINT "encounter_document_tenant_id_encounter_id_fkey" FOREIGN KEY ("tenant_id", "encounter_id") REFERENCES "encounter"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "encounter_document" ADD CONSTRAINT "encounter_document_tenant_id_document_id_fkey" FOREIGN KEY ("tenant_id", "document_id") REFERENCES "document"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "gfe_item" ADD CONSTRAINT "gfe_item_tenant_id_encounter_id_fkey" FOREIGN KEY ("tenant_id", "encounter_id") REFERENCES "encounter"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order" ADD CONSTRAINT "order_tenant_id_encounter_id_fkey" FOREIGN KEY ("tenant_id", "encounter_id") REFERENCES "encounter"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma cannot say ------------------------------------------------------------------------------------------------

-- One row of a sku among the products that are not deleted.
CREATE UNIQUE INDEX "product_tenant_id_sku_live_key" ON "product"("tenant_id", "sku") WHERE NOT "is_deleted";
-- At most one primary location a clinic: it decides the time zone of a schedule without one.
CREATE UNIQUE INDEX "clinic_location_primary_key" ON "clinic_location"("tenant_id", "clinic_id") WHERE "is_primary";

-- Substring search, bounded by the tenant: gin_trgm_ops for the text, btree_gin for the leading tenant_id.
CREATE INDEX "clinic_search_idx" ON "clinic" USING gin ("tenant_id", "name_key" gin_trgm_ops, "email_key" gin_trgm_ops);
CREATE INDEX "product_search_idx" ON "product" USING gin ("tenant_id", "name_key" gin_trgm_ops, "sku_key" gin_trgm_ops);

ALTER TABLE "tenant"
  ADD CONSTRAINT "tenant_id_slug" CHECK ("id" ~ '^[a-z0-9]+(-[a-z0-9]+)*$');
ALTER TABLE "api_client_secret"
  ADD CONSTRAINT "api_client_secret_sha256" CHECK (octet_length("secret_hash") = 32);
ALTER TABLE "product"
  ADD CONSTRAINT "product_money" CHECK ("unit_price" >= 0);
ALTER TABLE "product_offer"
  ADD CONSTRAINT "product_offer_money"
    CHECK ("price" >= 0 AND "shipping_amount" >= 0 AND "vendor_cost" >= 0 AND "cogs" >= 0);
ALTER TABLE "client"
  ADD CONSTRAINT "client_verifier_reminder_count" CHECK ("verifier_reminder_count" BETWEEN 0 AND 3);
ALTER TABLE "document"
  ADD CONSTRAINT "document_size" CHECK ("size_bytes" > 0),
  ADD CONSTRAINT "document_doc_type" CHECK ("doc_type" IN ('intake-forms', 'lab-results', 'id-card', 'gfe-forms'));
ALTER TABLE "encounter"
  ADD CONSTRAINT "encounter_schedule"
    CHECK (("scheduled_day" IS NOT NULL OR ("scheduled_time" IS NULL AND "scheduled_time_zone" IS NULL))
      AND (("scheduled_at" IS NULL) = ("scheduled_day" IS NULL OR "scheduled_time" IS NULL))),
  ADD CONSTRAINT "encounter_money"
    CHECK ("sub_total" >= 0 AND "total_shipping_amt" >= 0 AND "grand_total" = "sub_total" + "total_shipping_amt");
ALTER TABLE "order"
  ADD CONSTRAINT "order_money"
    CHECK ("sub_total" >= 0 AND "total_shipping_amt" >= 0 AND "grand_total" = "sub_total" + "total_shipping_amt"
      AND "paid_amt" >= 0 AND "paid_amt" <= "grand_total"),
  ADD CONSTRAINT "order_paid" CHECK ("order_status" = 'cancelled' OR ("order_status" = 'paid') = ("paid_amt" = "grand_total"));

-- Reference data of D-02: the states, territories and district of the United States.
INSERT INTO "ref_state" ("id", "code", "name", "country_id") VALUES
  ('01a1fa1d-8101-7b81-8b2d-451c62f746b4', 'AL', 'Alabama', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8102-723a-b61e-6ba536824dd6', 'AK', 'Alaska', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8103-7ec4-9b2b-a06b6ae12c97', 'AZ', 'Arizona', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8104-7225-aca4-a1a9f5b19f71', 'AR', 'Arkansas', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8105-74f0-a052-e52bdc36fc90', 'CA', 'California', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8106-777b-a500-bddf37b00307', 'CO', 'Colorado', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8107-754b-9a2e-c0035e0e14ca', 'CT', 'Connecticut', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8108-7a86-953a-5154281fa6f5', 'DE', 'Delaware', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8109-7169-8c83-cf3b8c0a70a7', 'DC', 'District of Columbia', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-810a-71dc-8db3-17d94c8edfa3', 'FL', 'Florida', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-810b-7939-988e-fbceb71ed78a', 'GA', 'Georgia', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-810c-766f-8859-90d2e844c762', 'HI', 'Hawaii', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-810d-760d-9097-c0405e571eaa', 'ID', 'Idaho', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-810e-75e5-9df6-f817b0992bcf', 'IL', 'Illinois', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-810f-78c3-86a9-42d303f84c48', 'IN', 'Indiana', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8110-75a4-bda9-d8c096d38ff5', 'IA', 'Iowa', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8111-77ed-aed9-1f2e3af9f30c', 'KS', 'Kansas', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8112-76be-baa2-919c0ded97bb', 'KY', 'Kentucky', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8113-79cc-8b47-02d25e05c990', 'LA', 'Louisiana', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8114-7862-851b-ec1ede27387c', 'ME', 'Maine', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8115-77af-9438-155150d00787', 'MD', 'Maryland', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8116-7fc9-ba8d-9ccd7582329f', 'MA', 'Massachusetts', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8117-7671-85d2-8c06620602e0', 'MI', 'Michigan', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8118-700d-9eda-7e46a386c4a7', 'MN', 'Minnesota', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8119-7bae-936b-7ac2bce1cb34', 'MS', 'Mississippi', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-811a-709d-b592-b89ff910d68a', 'MO', 'Missouri', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-811b-7a9d-8eaf-6d618434d99c', 'MT', 'Montana', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-811c-7340-9b24-10a6f0ae1284', 'NE', 'Nebraska', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-811d-7c04-aba3-3d67944782d7', 'NV', 'Nevada', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-811e-7278-9013-79c7d2ab5d67', 'NH', 'New Hampshire', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-811f-7543-89f2-8a8adecf9580', 'NJ', 'New Jersey', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8120-7562-b859-93a74865d3ee', 'NM', 'New Mexico', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8121-7060-a141-19cf6d84cc79', 'NY', 'New York', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8122-7c7f-be2f-bd720bdcb5d3', 'NC', 'North Carolina', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8123-7049-8233-eb557ff959b7', 'ND', 'North Dakota', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8124-712e-b1e9-f4fd46b1f9d2', 'OH', 'Ohio', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8125-7036-b938-eca42ccd5f71', 'OK', 'Oklahoma', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8126-70f0-9404-cd3aec32db3b', 'OR', 'Oregon', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8127-7601-8663-5a99e910fc8d', 'PA', 'Pennsylvania', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8128-7fb6-bda0-39233dde8fcb', 'RI', 'Rhode Island', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8129-74fa-9f6d-26b2d4ae6af5', 'SC', 'South Carolina', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-812a-78d1-9b39-16640d9792c1', 'SD', 'South Dakota', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-812b-7e88-a2aa-b6fe0d5feb54', 'TN', 'Tennessee', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a05c32-5e80-7000-8000-000000005048', 'TX', 'Texas', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-812d-737c-8222-8d485d0991e0', 'UT', 'Utah', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-812e-7036-8b21-ea852a848829', 'VT', 'Vermont', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-812f-7c1a-8a62-4ac17ac0cddb', 'VA', 'Virginia', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8130-7a8d-a27d-239fdf8adf39', 'WA', 'Washington', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8131-788b-add0-3c874ca8c324', 'WV', 'West Virginia', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8132-780f-99fb-18e8eef6aac4', 'WI', 'Wisconsin', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8133-7f76-8f18-de536895bc43', 'WY', 'Wyoming', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8134-7525-9362-3b53b93e295f', 'AS', 'American Samoa', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8135-7099-b688-672695814675', 'GU', 'Guam', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8136-78a3-9de5-a8811aafd366', 'MP', 'Northern Mariana Islands', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8137-7103-b9a8-eab819b343bb', 'PR', 'Puerto Rico', '01a05c32-5e80-7000-8000-000000000840'),
  ('01a1fa1d-8138-7725-a518-182b5e200159', 'VI', 'U.S. Virgin Islands', '01a05c32-5e80-7000-8000-000000000840');
