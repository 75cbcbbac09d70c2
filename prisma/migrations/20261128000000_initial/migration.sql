-- Locks: none
-- The whole schema: what schema.prisma declares, and by hand what Prisma cannot express. tests/contract/migrations.test.ts
-- compares both. Every tenant-owned table has the primary key (tenant_id, id): sandboxes share the ids of their fixtures,
-- and composite foreign keys refuse a link across tenants (R-01).

-- Extensions ---------------------------------------------------------------------------------------------------------

-- For the indexes of searches, which begin with the tenant. Both are trusted: the owner of the database may create them.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Types --------------------------------------------------------------------------------------------------------------

CREATE TYPE tenant_mode AS ENUM ('live', 'sandbox');
CREATE TYPE sex AS ENUM ('male', 'female', 'other');
CREATE TYPE verification_status AS ENUM ('NOTVERIFIED', 'INVITED', 'VERIFIED');
CREATE TYPE shipping_type AS ENUM ('FREE_SHIPPING', 'FLAT_RATE');
CREATE TYPE storage_provider AS ENUM ('file', 's3');
CREATE TYPE review_type AS ENUM ('synchronous', 'asynchronous');
CREATE TYPE service_queue AS ENUM ('provider_network');
CREATE TYPE encounter_status AS ENUM ('pending_review', 'in_review', 'awaiting_information', 'completed', 'denied',
  'cancelled', 'expired');
CREATE TYPE gfe_item_status AS ENUM ('pending_review', 'approved', 'denied', 'cancelled', 'expired', 'superseded',
  'revoked');
CREATE TYPE order_status AS ENUM ('pending', 'paid', 'cancelled', 'refunded');
CREATE TYPE cancel_reason AS ENUM ('partner_request', 'patient_request', 'patient_no_show', 'duplicate',
  'clinically_inappropriate', 'patient_declined', 'other');
CREATE TYPE fulfilment_status AS ENUM ('pending', 'accepted', 'shipped', 'delivered', 'exception', 'cancelled');
CREATE TYPE provider_credential AS ENUM ('MD', 'DO', 'NP', 'PA', 'RN', 'other');
CREATE TYPE hold_reason AS ENUM ('revoked', 'superseded', 'expired', 'stopped');
CREATE TYPE treatment_decision AS ENUM ('approved', 'denied', 'declined');
CREATE TYPE approval_end AS ENUM ('revoked', 'superseded');
CREATE TYPE withdrawal_reason AS ENUM ('wrong_patient', 'superseded', 'illegible');
CREATE TYPE event_type AS ENUM ('patient.created', 'patient.updated', 'patient.verification_updated',
  'document.created', 'document.withdrawn', 'encounter.created', 'encounter.review_started', 'encounter.visit_ready',
  'encounter.released',
  'encounter.information_requested', 'encounter.information_provided', 'encounter.rescheduled', 'encounter.updated',
  'encounter.completed', 'encounter.denied', 'encounter.cancelled', 'encounter.expired', 'gfe.expiring',
  'gfe.expired', 'gfe.superseded', 'gfe.revoked', 'order.created', 'order.updated', 'order.paid', 'order.cancelled',
  'order.refunded', 'order.fulfilment_updated', 'order.held', 'order.recalled', 'webhook.ping', 'webhook.disabled');
CREATE TYPE webhook_status AS ENUM ('active', 'disabled');
CREATE TYPE delivery_status AS ENUM ('waiting', 'delivered', 'failed');

-- Tables -------------------------------------------------------------------------------------------------------------

CREATE TABLE tenant (
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  mode tenant_mode NOT NULL,
  is_active BOOLEAN NOT NULL DEFAULT true,
  require_licensed_provider BOOLEAN NOT NULL DEFAULT false,
  minimum_age INTEGER NOT NULL DEFAULT 0,
  record_retention_years INTEGER NOT NULL DEFAULT 0,
  currency TEXT NOT NULL DEFAULT 'USD',
  clock_offset_ms BIGINT NOT NULL DEFAULT 0,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT tenant_pkey PRIMARY KEY (id)
);

CREATE TABLE provider (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  reviewer_ref TEXT NOT NULL,
  name TEXT NOT NULL,
  npi TEXT NOT NULL,
  credential provider_credential,
  dea_number TEXT,
  is_active BOOLEAN NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT provider_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE provider_license (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  provider_id UUID NOT NULL,
  state TEXT NOT NULL,
  number TEXT NOT NULL,
  expires_on DATE NOT NULL,
  asynchronous_allowed BOOLEAN NOT NULL,
  CONSTRAINT provider_license_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE api_client (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  name TEXT NOT NULL,
  permissions TEXT[],
  allowed_clinic_ids UUID[] DEFAULT ARRAY[]::UUID[],
  allowed_pharmacy_ids UUID[] DEFAULT ARRAY[]::UUID[],
  requests_per_minute INTEGER,
  is_active BOOLEAN NOT NULL DEFAULT true,
  tokens_valid_after TIMESTAMPTZ(3),
  last_used_at TIMESTAMPTZ(3),
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT api_client_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE api_client_secret (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  api_client_id UUID NOT NULL,
  secret_hash BYTEA NOT NULL,
  hint TEXT NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  expires_at TIMESTAMPTZ(3),
  last_used_at TIMESTAMPTZ(3),
  CONSTRAINT api_client_secret_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE clinic (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  legal_name TEXT NOT NULL,
  display_name TEXT NOT NULL,
  email TEXT NOT NULL,
  is_active BOOLEAN NOT NULL,
  metadata JSONB,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  -- Ordered by code point, which no upgrade of the operating system changes.
  name_key TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(legal_name)) STORED,
  email_key TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(email)) STORED,
  CONSTRAINT clinic_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE clinic_location (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  clinic_id UUID NOT NULL,
  name TEXT NOT NULL,
  address1 TEXT NOT NULL,
  address2 TEXT,
  city TEXT NOT NULL,
  state TEXT NOT NULL,
  postal TEXT NOT NULL,
  country TEXT NOT NULL,
  phone TEXT,
  timezone TEXT,
  is_primary BOOLEAN NOT NULL,
  is_active BOOLEAN NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT clinic_location_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE category (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  category_name TEXT NOT NULL,
  review_often TEXT NOT NULL,
  review_recurring BOOLEAN NOT NULL,
  min_age INTEGER,
  synchronous_only BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMPTZ(3) NOT NULL,
  created_by UUID,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  updated_by UUID,
  CONSTRAINT category_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE subcategory (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  category_id UUID NOT NULL,
  sub_category_name TEXT NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  created_by UUID,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  updated_by UUID,
  CONSTRAINT subcategory_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE product (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  sku TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  unit_price DECIMAL(12,2) NOT NULL,
  is_active BOOLEAN NOT NULL,
  is_deleted BOOLEAN NOT NULL DEFAULT false,
  metadata JSONB,
  pharmacy_id UUID NOT NULL,
  pharmacy_name TEXT NOT NULL,
  external_code TEXT NOT NULL,
  category_id UUID NOT NULL,
  subcategory_id UUID NOT NULL,
  image_url TEXT,
  min_age INTEGER,
  synchronous_only BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMPTZ(3) NOT NULL,
  created_by UUID,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  updated_by UUID,
  name_key TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
  sku_key TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(sku)) STORED,
  CONSTRAINT product_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE product_rx (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  product_id UUID NOT NULL,
  rx_number TEXT,
  drug_form TEXT,
  drug_strength TEXT,
  directions TEXT,
  refills INTEGER NOT NULL,
  rx_type TEXT,
  dea_schedule_id UUID NOT NULL,
  quantity_unit_of_measure_id UUID NOT NULL,
  code_list_qualifier TEXT,
  rx_qty INTEGER NOT NULL,
  days_supply INTEGER NOT NULL,
  date_written TEXT,
  daw TEXT,
  requested_by TEXT,
  refrigeration_type_id UUID NOT NULL,
  notes TEXT,
  created_at TIMESTAMPTZ(3) NOT NULL,
  created_by UUID,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  updated_by UUID,
  CONSTRAINT product_rx_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE product_offer (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  product_id UUID NOT NULL,
  price DECIMAL(12,2) NOT NULL,
  qty INTEGER NOT NULL,
  qty_alert INTEGER NOT NULL,
  shipping_type shipping_type NOT NULL,
  shipping_amount DECIMAL(12,2) NOT NULL,
  vendor_cost DECIMAL(12,2) NOT NULL,
  cogs DECIMAL(12,2) NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  created_by UUID,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  updated_by UUID,
  CONSTRAINT product_offer_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE offer_variant (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  product_offer_id UUID NOT NULL,
  name TEXT NOT NULL,
  sku TEXT NOT NULL,
  price DECIMAL(12,2) NOT NULL,
  qty INTEGER NOT NULL,
  is_active BOOLEAN NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT offer_variant_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE clinic_availability (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  product_id UUID NOT NULL,
  clinic_id UUID NOT NULL,
  is_active BOOLEAN NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT clinic_availability_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE client (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(email)) STORED,
  date_of_birth DATE NOT NULL,
  sex sex,
  phone TEXT NOT NULL,
  country_code TEXT NOT NULL,
  is_verified verification_status NOT NULL,
  address1 TEXT,
  address2 TEXT,
  city_id UUID,
  state_id UUID,
  country_id UUID,
  postal TEXT,
  metadata JSONB,
  timezone TEXT,
  locale TEXT,
  notes TEXT,
  emergency_contact TEXT,
  emergency_contact_code TEXT,
  emergency_contact_name TEXT,
  guardian JSONB,
  employer TEXT,
  work_mobile TEXT,
  marital_status TEXT,
  gfe_state_id UUID,
  profile_image_blob_path TEXT,
  is_home_address_same_as_shipping BOOLEAN NOT NULL,
  insurance_info TEXT,
  medical_history TEXT,
  facts_version BIGINT NOT NULL DEFAULT 0,
  facts_changes JSONB NOT NULL DEFAULT '{}',
  version INTEGER NOT NULL DEFAULT 1,
  verifier_job_id TEXT,
  verifier_invite_sent_date TIMESTAMPTZ(3),
  verifier_result_message TEXT,
  verifier_response_payload JSONB,
  verifier_reminder_count INTEGER NOT NULL DEFAULT 0,
  comms_user_id TEXT,
  account_is_active BOOLEAN NOT NULL DEFAULT true,
  account_is_temporary_password BOOLEAN NOT NULL DEFAULT true,
  account_otp_expires_at TIMESTAMPTZ(3),
  account_last_password_reset TIMESTAMPTZ(3),
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  created_by_api_client_id UUID,
  CONSTRAINT client_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE ref_state (
  id UUID NOT NULL,
  code TEXT NOT NULL,
  name TEXT NOT NULL,
  country_id UUID NOT NULL,
  country_code TEXT NOT NULL,
  CONSTRAINT ref_state_pkey PRIMARY KEY (id)
);

CREATE TABLE signing_key (
  kid TEXT NOT NULL,
  known_since TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT signing_key_pkey PRIMARY KEY (kid)
);

CREATE TABLE document (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  patient_id UUID NOT NULL,
  doc_type TEXT NOT NULL,
  storage_provider storage_provider NOT NULL,
  container TEXT NOT NULL,
  blob_path TEXT NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  checksum TEXT NOT NULL,
  file_name TEXT NOT NULL,
  original_filename TEXT NOT NULL,
  uploaded_by_id UUID NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  withdrawn_at TIMESTAMPTZ(3),
  withdrawal_reason withdrawal_reason,
  CONSTRAINT document_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE encounter (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  -- The fixtures of sandboxes bring their numbers, which are below the start of the sequence (R-14).
  encounter_no BIGINT NOT NULL GENERATED BY DEFAULT AS IDENTITY (START WITH 101000),
  gfe_no TEXT NOT NULL GENERATED ALWAYS AS ('GFE-' || encounter_no::text) STORED,
  status encounter_status NOT NULL,
  clinic_id UUID NOT NULL,
  patient_id UUID NOT NULL,
  review_type review_type NOT NULL,
  service_queue service_queue NOT NULL,
  additional_notes TEXT,
  reference TEXT,
  metadata JSONB,
  scheduled_day TEXT,
  scheduled_time TEXT,
  scheduled_time_zone TEXT,
  scheduled_at TIMESTAMPTZ(3),
  sub_total DECIMAL(14,2) NOT NULL,
  total_shipping_amt DECIMAL(14,2) NOT NULL,
  grand_total DECIMAL(14,2) NOT NULL,
  currency TEXT NOT NULL,
  patient_state TEXT,
  review_state TEXT,
  reviewer_ref TEXT,
  claimed_at TIMESTAMPTZ(3),
  claimed_by_id UUID,
  reviewed_by_id UUID,
  lease_expires_at TIMESTAMPTZ(3),
  visit_url TEXT,
  claimable_from TIMESTAMPTZ(3) NOT NULL,
  visit_started_at TIMESTAMPTZ(3),
  visit_ended_at TIMESTAMPTZ(3),
  review_notes TEXT,
  facts_version BIGINT,
  reviewed_provider JSONB,
  reviewed_identity JSONB,
  ship_to JSONB,
  completed_at TIMESTAMPTZ(3),
  cancelled_at TIMESTAMPTZ(3),
  cancel_reason cancel_reason,
  expires_at TIMESTAMPTZ(3) NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  -- For the constraints between rows.
  completed_id UUID GENERATED ALWAYS AS (CASE WHEN status = 'completed' THEN id END) STORED,
  first_order INTEGER NOT NULL GENERATED ALWAYS AS (0) STORED,
  phase TEXT NOT NULL GENERATED ALWAYS AS (CASE
    WHEN status = 'completed' THEN 'completed'
    WHEN status IN ('denied', 'cancelled', 'expired') THEN 'closed'
    ELSE 'open' END) STORED,
  CONSTRAINT encounter_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE encounter_treatment (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  encounter_id UUID NOT NULL,
  product_id UUID NOT NULL,
  position INTEGER NOT NULL,
  sku TEXT NOT NULL,
  name TEXT NOT NULL,
  price DECIMAL(12,2) NOT NULL,
  shipping_type shipping_type NOT NULL,
  shipping_amount DECIMAL(12,2) NOT NULL,
  pharmacy_id UUID NOT NULL,
  pharmacy_name TEXT NOT NULL,
  category_id UUID NOT NULL,
  category_name TEXT NOT NULL,
  subcategory_id UUID NOT NULL,
  sub_category_name TEXT NOT NULL,
  rx JSONB,
  patient_id UUID NOT NULL,
  clinic_id UUID NOT NULL,
  decision treatment_decision,
  decided_at TIMESTAMPTZ(3),
  valid_until TIMESTAMPTZ(3),
  ended_at TIMESTAMPTZ(3),
  end_reason approval_end,
  CONSTRAINT encounter_treatment_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE encounter_document (
  tenant_id TEXT NOT NULL,
  encounter_id UUID NOT NULL,
  document_id UUID NOT NULL,
  position INTEGER NOT NULL,
  CONSTRAINT encounter_document_pkey PRIMARY KEY (tenant_id, encounter_id, document_id)
);

CREATE TABLE encounter_information (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  encounter_id UUID NOT NULL,
  requested_at TIMESTAMPTZ(3) NOT NULL,
  reviewer_ref TEXT NOT NULL,
  message TEXT NOT NULL,
  provided_at TIMESTAMPTZ(3),
  additional_notes TEXT,
  expires_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT encounter_information_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE encounter_addendum (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  encounter_id UUID NOT NULL,
  added_at TIMESTAMPTZ(3) NOT NULL,
  reviewer_ref TEXT NOT NULL,
  text TEXT NOT NULL,
  CONSTRAINT encounter_addendum_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE gfe_item (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  encounter_id UUID NOT NULL,
  clinic_id UUID NOT NULL,
  position INTEGER NOT NULL,
  category_id UUID NOT NULL,
  category_name TEXT NOT NULL,
  subcategory_id UUID NOT NULL,
  sub_category_name TEXT NOT NULL,
  review_often TEXT NOT NULL,
  review_recurring BOOLEAN NOT NULL,
  status gfe_item_status NOT NULL,
  decided_at TIMESTAMPTZ(3),
  valid_until TIMESTAMPTZ(3),
  expiring_notified_at TIMESTAMPTZ(3),
  expired_notified_at TIMESTAMPTZ(3),
  denial_reason TEXT,
  rationale TEXT,
  revoked_by TEXT,
  revocation_reason TEXT,
  -- For the constraints between rows.
  encounter_phase TEXT GENERATED ALWAYS AS (CASE WHEN status = 'pending_review' THEN 'open' END) STORED,
  CONSTRAINT gfe_item_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE "order" (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  encounter_id UUID NOT NULL,
  position INTEGER NOT NULL,
  order_sequence BIGINT NOT NULL GENERATED BY DEFAULT AS IDENTITY (START WITH 101000),
  order_no TEXT NOT NULL GENERATED ALWAYS AS ('ORD-' || order_sequence::text) STORED,
  order_status order_status NOT NULL,
  currency TEXT NOT NULL,
  sub_total DECIMAL(14,2) NOT NULL,
  total_shipping_amt DECIMAL(14,2) NOT NULL,
  grand_total DECIMAL(14,2) NOT NULL,
  paid_amt DECIMAL(14,2) NOT NULL,
  refunded_amt DECIMAL(14,2) NOT NULL,
  balance_amt DECIMAL(14,2) NOT NULL,
  refundable_amt DECIMAL(14,2) NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  clinic_id UUID NOT NULL,
  cancel_reason TEXT,
  held_amt DECIMAL(14,2) NOT NULL,
  ship_to JSONB,
  -- For the constraints between rows.
  encounter_phase TEXT NOT NULL GENERATED ALWAYS AS ('completed') STORED,
  first_position INTEGER NOT NULL GENERATED ALWAYS AS (0) STORED,
  CONSTRAINT order_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE order_line (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  order_id UUID NOT NULL,
  position INTEGER NOT NULL,
  gfe_item_id UUID NOT NULL,
  product_id UUID NOT NULL,
  sku TEXT NOT NULL,
  name TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  unit_price DECIMAL(12,2) NOT NULL,
  shipping_type shipping_type NOT NULL,
  shipping_amt DECIMAL(12,2) NOT NULL,
  line_total DECIMAL(14,2) NOT NULL,
  pharmacy_id UUID NOT NULL,
  pharmacy_name TEXT NOT NULL,
  status fulfilment_status NOT NULL,
  carrier TEXT,
  tracking_number TEXT,
  reason TEXT,
  shipped_at TIMESTAMPTZ(3),
  recalled_at TIMESTAMPTZ(3),
  hold_reason hold_reason,
  hold_at TIMESTAMPTZ(3),
  expires_at TIMESTAMPTZ(3),
  ordered_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT order_line_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE payment (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  order_id UUID NOT NULL,
  amount DECIMAL(14,2) NOT NULL,
  refunded_amt DECIMAL(14,2) NOT NULL DEFAULT 0,
  reference TEXT,
  api_client_id UUID NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT payment_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE refund (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  order_id UUID NOT NULL,
  payment_id UUID NOT NULL,
  amount DECIMAL(14,2) NOT NULL,
  reason TEXT NOT NULL,
  api_client_id UUID NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT refund_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE event (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  type event_type NOT NULL,
  clinic_id UUID,
  pharmacy_ids UUID[],
  api_client_id UUID,
  data JSONB NOT NULL,
  timestamp TIMESTAMPTZ(3) NOT NULL,
  recorded_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT event_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE event_counter (
  tenant_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  gap_start BIGINT,
  gap_end BIGINT,
  CONSTRAINT event_counter_pkey PRIMARY KEY (tenant_id)
);

CREATE TABLE webhook_endpoint (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  api_client_id UUID NOT NULL,
  url TEXT NOT NULL,
  types event_type[],
  description TEXT,
  status webhook_status NOT NULL DEFAULT 'active',
  disabled_reason TEXT,
  secret BYTEA NOT NULL,
  previous_secret BYTEA,
  previous_secret_until TIMESTAMPTZ(3),
  from_position BIGINT NOT NULL,
  last_success_at TIMESTAMPTZ(3),
  last_failure_at TIMESTAMPTZ(3),
  failing_since TIMESTAMPTZ(3),
  busy_until TIMESTAMPTZ(3),
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE webhook_cursor (
  tenant_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  CONSTRAINT webhook_cursor_pkey PRIMARY KEY (tenant_id)
);

CREATE TABLE webhook_delivery (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  endpoint_id UUID NOT NULL,
  event_id UUID NOT NULL,
  status delivery_status NOT NULL DEFAULT 'waiting',
  failures INTEGER NOT NULL DEFAULT 0,
  next_attempt_at TIMESTAMPTZ(3),
  attempts JSONB NOT NULL DEFAULT '[]',
  created_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT webhook_delivery_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE webhook_inbox_message (
  id UUID NOT NULL,
  tenant_id TEXT NOT NULL,
  endpoint_id UUID NOT NULL,
  headers JSONB NOT NULL,
  body TEXT NOT NULL,
  status INTEGER NOT NULL,
  received_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT webhook_inbox_message_pkey PRIMARY KEY (tenant_id, id)
);

CREATE TABLE sandbox_exchange (
  tenant_id TEXT NOT NULL,
  request_id UUID NOT NULL,
  at TIMESTAMPTZ(3) NOT NULL,
  client_id TEXT NOT NULL,
  operation_id TEXT NOT NULL,
  target TEXT NOT NULL,
  request_body TEXT,
  response_body TEXT,
  status INTEGER NOT NULL,
  code TEXT,
  CONSTRAINT sandbox_exchange_pkey PRIMARY KEY (tenant_id, request_id)
);

CREATE TABLE webhook_inbox (
  tenant_id TEXT NOT NULL,
  status INTEGER NOT NULL,
  delay_ms INTEGER NOT NULL,
  CONSTRAINT webhook_inbox_pkey PRIMARY KEY (tenant_id)
);

CREATE TABLE idempotency_key (
  tenant_id TEXT NOT NULL,
  api_client_id UUID NOT NULL,
  operation_id TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint BYTEA NOT NULL,
  answer JSONB,
  created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT idempotency_key_pkey PRIMARY KEY (tenant_id, api_client_id, operation_id, key)
);

CREATE TABLE job_run (
  name TEXT NOT NULL,
  started_at TIMESTAMPTZ NOT NULL,
  ended_at TIMESTAMPTZ,
  failed BOOLEAN NOT NULL DEFAULT false,
  due_at TIMESTAMPTZ NOT NULL,
  CONSTRAINT job_run_pkey PRIMARY KEY (name)
);

CREATE TABLE audit_event (
  -- '-' for rows without a tenant, which have a chain of their own.
  tenant_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  at TIMESTAMPTZ(3) NOT NULL,
  client_id TEXT,
  operator TEXT,
  operation_id TEXT NOT NULL,
  resource_type TEXT,
  resource_id TEXT,
  patient_ids UUID[] DEFAULT ARRAY[]::UUID[],
  status INTEGER,
  code TEXT,
  request_id UUID,
  ip INET,
  outcome TEXT NOT NULL,
  reviewer_ref TEXT,
  CONSTRAINT audit_event_pkey PRIMARY KEY (tenant_id, position)
);

CREATE TABLE audit_counter (
  tenant_id TEXT NOT NULL,
  position BIGINT NOT NULL,
  sealed BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT audit_counter_pkey PRIMARY KEY (tenant_id)
);

CREATE TABLE audit_seal (
  tenant_id TEXT NOT NULL,
  number BIGINT NOT NULL,
  through BIGINT NOT NULL,
  removes BIGINT,
  digests BYTEA NOT NULL,
  hash BYTEA NOT NULL,
  sealed_at TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT audit_seal_pkey PRIMARY KEY (tenant_id, number)
);

-- Checks -------------------------------------------------------------------------------------------------------------

ALTER TABLE tenant
  ADD CONSTRAINT tenant_id_slug CHECK (id ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
  ADD CONSTRAINT tenant_currency CHECK (currency ~ '^[A-Z]{3}$'),
  -- Only a sandbox's clock can differ from the real one, and only ahead.
  ADD CONSTRAINT tenant_clock CHECK (clock_offset_ms >= 0 AND (mode = 'sandbox' OR clock_offset_ms = 0));
ALTER TABLE api_client
  ADD CONSTRAINT api_client_requests_per_minute_check CHECK (requests_per_minute > 0);
ALTER TABLE api_client_secret
  ADD CONSTRAINT api_client_secret_sha256 CHECK (octet_length(secret_hash) = 32);
ALTER TABLE product
  ADD CONSTRAINT product_money CHECK (unit_price >= 0);
ALTER TABLE product_offer
  ADD CONSTRAINT product_offer_money CHECK (price >= 0 AND shipping_amount >= 0 AND vendor_cost >= 0 AND cogs >= 0);
ALTER TABLE client
  ADD CONSTRAINT client_verifier_reminder_count CHECK (verifier_reminder_count BETWEEN 0 AND 3);
ALTER TABLE document
  ADD CONSTRAINT document_doc_type
    CHECK (doc_type IN ('intake-forms', 'lab-results', 'id-card', 'gfe-forms', 'consent-forms', 'photos')),
  ADD CONSTRAINT document_size CHECK (size_bytes > 0),
  ADD CONSTRAINT document_withdrawn CHECK ((withdrawn_at IS NULL) = (withdrawal_reason IS NULL));

ALTER TABLE encounter
  -- A time zone alone is a constant of the caller's configuration, not a schedule.
  ADD CONSTRAINT encounter_schedule CHECK ((scheduled_day IS NOT NULL OR scheduled_time IS NULL)
    AND (scheduled_at IS NULL) = (scheduled_day IS NULL OR scheduled_time IS NULL)),
  ADD CONSTRAINT encounter_money
    CHECK (sub_total >= 0 AND total_shipping_amt >= 0 AND grand_total = sub_total + total_shipping_amt),
  -- The states (R-38), row by row. The claim of a finished review stays readable; a released one is cleared.
  ADD CONSTRAINT encounter_lease CHECK ((status = 'in_review') = (lease_expires_at IS NOT NULL)),
  ADD CONSTRAINT encounter_claim CHECK (CASE
    WHEN status = 'in_review' THEN reviewer_ref IS NOT NULL AND claimed_at IS NOT NULL
    WHEN status IN ('pending_review', 'awaiting_information') THEN reviewer_ref IS NULL AND claimed_at IS NULL
    ELSE true END),
  ADD CONSTRAINT encounter_visit
    CHECK ((visit_started_at IS NULL) = (visit_ended_at IS NULL) AND visit_started_at <= visit_ended_at),
  ADD CONSTRAINT encounter_visit_url CHECK (status = 'in_review' OR visit_url IS NULL),
  ADD CONSTRAINT encounter_completed CHECK ((status IN ('completed', 'denied')) = (completed_at IS NOT NULL)),
  ADD CONSTRAINT encounter_cancelled CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)
    AND (status = 'cancelled') = (cancel_reason IS NOT NULL));
ALTER TABLE encounter_information
  ADD CONSTRAINT encounter_information_notes CHECK (provided_at IS NOT NULL OR additional_notes IS NULL);
ALTER TABLE encounter_treatment
  ADD CONSTRAINT encounter_treatment_decision CHECK ((decision IS NULL) = (decided_at IS NULL)),
  ADD CONSTRAINT encounter_treatment_end CHECK ((ended_at IS NULL) = (end_reason IS NULL)
    AND (end_reason IS NULL OR decision = 'approved'));
ALTER TABLE gfe_item
  ADD CONSTRAINT gfe_item_decision
    CHECK ((status IN ('approved', 'denied', 'superseded', 'revoked')) = (decided_at IS NOT NULL)),
  ADD CONSTRAINT gfe_item_denial CHECK ((status = 'denied') = (denial_reason IS NOT NULL)),
  ADD CONSTRAINT gfe_item_validity
    CHECK (status IN ('approved', 'superseded', 'revoked') OR valid_until IS NULL),
  -- An approval that ended before its time says when.
  ADD CONSTRAINT gfe_item_end CHECK (status NOT IN ('superseded', 'revoked') OR valid_until IS NOT NULL),
  ADD CONSTRAINT gfe_item_revocation CHECK ((status = 'revoked') = (revocation_reason IS NOT NULL)
    AND (revocation_reason IS NULL) = (revoked_by IS NULL));

ALTER TABLE "order"
  ADD CONSTRAINT order_money CHECK (sub_total >= 0 AND total_shipping_amt >= 0
    AND grand_total = sub_total + total_shipping_amt AND paid_amt >= 0 AND paid_amt <= grand_total),
  -- What was received never exceeds the price, and a refund is not a debt (R-57).
  ADD CONSTRAINT order_received CHECK (paid_amt + refunded_amt <= grand_total),
  ADD CONSTRAINT order_paid CHECK (order_status <> 'paid' OR balance_amt = 0),
  ADD CONSTRAINT order_refunded CHECK (order_status <> 'refunded' OR paid_amt = 0 AND refunded_amt > 0),
  ADD CONSTRAINT order_rest CHECK (held_amt >= 0 AND refunded_amt >= 0 AND balance_amt BETWEEN 0 AND grand_total
    AND refundable_amt BETWEEN 0 AND paid_amt AND (balance_amt = 0 OR refundable_amt = 0));
ALTER TABLE order_line
  ADD CONSTRAINT order_line_quantity CHECK (quantity = 1),
  ADD CONSTRAINT order_line_money
    CHECK (unit_price >= 0 AND shipping_amt >= 0 AND line_total = unit_price + shipping_amt),
  ADD CONSTRAINT order_line_shipping CHECK (shipping_type <> 'FREE_SHIPPING' OR shipping_amt = 0),
  -- A held line never ships (R-190).
  ADD CONSTRAINT order_line_hold CHECK ((hold_reason IS NULL) = (hold_at IS NULL)
    AND (hold_at IS NULL OR status NOT IN ('shipped', 'delivered') AND expires_at IS NULL));
ALTER TABLE payment
  ADD CONSTRAINT payment_amount CHECK (amount > 0),
  ADD CONSTRAINT payment_refunded CHECK (refunded_amt >= 0 AND refunded_amt <= amount);
ALTER TABLE refund
  ADD CONSTRAINT refund_amount CHECK (amount > 0);

ALTER TABLE webhook_endpoint
  ADD CONSTRAINT webhook_endpoint_disabled CHECK ((status = 'disabled') = (disabled_reason IS NOT NULL)),
  ADD CONSTRAINT webhook_endpoint_previous_secret
    CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL));
ALTER TABLE webhook_delivery
  ADD CONSTRAINT webhook_delivery_waiting CHECK ((status = 'waiting') = (next_attempt_at IS NOT NULL));
ALTER TABLE idempotency_key
  ADD CONSTRAINT idempotency_key_sha256 CHECK (octet_length(fingerprint) = 32);
ALTER TABLE audit_event
  ADD CONSTRAINT audit_event_outcome_check CHECK (outcome IN ('success', 'refused', 'failed', 'unknown'));

-- Indexes ------------------------------------------------------------------------------------------------------------

-- A schedule without a time counts as its day in UTC. Immutable: the cast depends on no setting.
CREATE FUNCTION scheduled_instant(day TEXT, at TIMESTAMPTZ) RETURNS TIMESTAMPTZ LANGUAGE sql IMMUTABLE
  AS $$ SELECT coalesce("at", ("day" || 'T00:00:00Z')::timestamptz) $$;

CREATE UNIQUE INDEX provider_tenant_id_reviewer_ref_key ON provider(tenant_id, reviewer_ref);

CREATE UNIQUE INDEX provider_license_tenant_id_provider_id_state_number_key
  ON provider_license(tenant_id, provider_id, state, number);

-- A login knows only the client_id: 100 random bits, so that two tenants never have the same.
CREATE INDEX api_client_client_id_idx ON api_client(client_id);
CREATE UNIQUE INDEX api_client_tenant_id_client_id_key ON api_client(tenant_id, client_id);
CREATE UNIQUE INDEX api_client_tenant_id_name_key ON api_client(tenant_id, name);

CREATE INDEX api_client_secret_tenant_id_api_client_id_idx ON api_client_secret(tenant_id, api_client_id);

CREATE UNIQUE INDEX clinic_tenant_id_name_key_email_key_key ON clinic(tenant_id, name_key, email_key);
-- Each order of a list has its index. Those by name contain what short searches read, too.
CREATE INDEX clinic_name_idx ON clinic(tenant_id, name_key, created_at DESC, id, email_key, is_active);
CREATE INDEX clinic_name_desc_idx ON clinic(tenant_id, name_key DESC, created_at DESC, id);
CREATE INDEX clinic_tenant_id_created_at_id_idx ON clinic(tenant_id, created_at, id);
CREATE INDEX clinic_created_desc_idx ON clinic(tenant_id, created_at DESC, id);
CREATE INDEX clinic_updated_idx ON clinic(tenant_id, updated_at, created_at DESC, id);
CREATE INDEX clinic_updated_desc_idx ON clinic(tenant_id, updated_at DESC, created_at DESC, id);
-- Words of three letters or digits, and more.
CREATE INDEX clinic_search_idx ON clinic USING gin (tenant_id, (name_key || E'\n' || email_key) gin_trgm_ops);

CREATE UNIQUE INDEX clinic_location_tenant_id_clinic_id_name_key ON clinic_location(tenant_id, clinic_id, name);
CREATE INDEX clinic_location_tenant_id_state_clinic_id_idx ON clinic_location(tenant_id, state, clinic_id);
-- At most one primary location for each clinic: its time zone and its state apply to the clinic.
CREATE UNIQUE INDEX clinic_location_primary_key ON clinic_location(tenant_id, clinic_id) WHERE is_primary;

CREATE UNIQUE INDEX category_tenant_id_category_name_key ON category(tenant_id, category_name);

CREATE UNIQUE INDEX subcategory_tenant_id_category_id_id_key ON subcategory(tenant_id, category_id, id);
CREATE UNIQUE INDEX subcategory_tenant_id_category_id_sub_category_name_key
  ON subcategory(tenant_id, category_id, sub_category_name);

CREATE INDEX product_tenant_id_category_id_idx ON product(tenant_id, category_id);
-- Each order of a list has its index. Those by name contain what short searches read, too.
CREATE INDEX product_name_idx ON product(tenant_id, is_deleted, name_key, created_at DESC, id, sku_key, is_active);
CREATE INDEX product_name_desc_idx ON product(tenant_id, is_deleted, name_key DESC, created_at DESC, id);
CREATE INDEX product_tenant_id_is_deleted_sku_key_created_at_id_idx
  ON product(tenant_id, is_deleted, sku_key, created_at DESC, id);
CREATE INDEX product_sku_desc_idx ON product(tenant_id, is_deleted, sku_key DESC, created_at DESC, id);
CREATE INDEX product_tenant_id_is_deleted_created_at_id_idx ON product(tenant_id, is_deleted, created_at, id);
CREATE INDEX product_created_desc_idx ON product(tenant_id, is_deleted, created_at DESC, id);
CREATE INDEX product_updated_idx ON product(tenant_id, is_deleted, updated_at, created_at DESC, id);
CREATE INDEX product_updated_desc_idx ON product(tenant_id, is_deleted, updated_at DESC, created_at DESC, id);
-- Words of three letters or digits, and more.
CREATE INDEX product_search_idx ON product USING gin (tenant_id, (name_key || E'\n' || sku_key) gin_trgm_ops);
-- A deleted product frees its sku.
CREATE UNIQUE INDEX product_tenant_id_sku_live_key ON product(tenant_id, sku) WHERE NOT is_deleted;

CREATE UNIQUE INDEX product_rx_tenant_id_product_id_key ON product_rx(tenant_id, product_id);

CREATE UNIQUE INDEX product_offer_tenant_id_product_id_key ON product_offer(tenant_id, product_id);

CREATE UNIQUE INDEX offer_variant_tenant_id_product_offer_id_sku_key ON offer_variant(tenant_id, product_offer_id, sku);

CREATE UNIQUE INDEX clinic_availability_tenant_id_product_id_clinic_id_key
  ON clinic_availability(tenant_id, product_id, clinic_id);

CREATE UNIQUE INDEX client_tenant_id_email_key_key ON client(tenant_id, email_key);
-- Patients with one last name, in any case, and birth date (R-239). The condition always holds; it keeps the index out of
-- schema.prisma, which cannot express lower().
CREATE INDEX client_name_idx ON client(tenant_id, date_of_birth, lower(last_name), created_at, id)
  WHERE last_name IS NOT NULL;
-- Possible duplicates in a chart (R-212).
CREATE INDEX client_tenant_id_date_of_birth_idx ON client(tenant_id, date_of_birth);

CREATE UNIQUE INDEX ref_state_country_id_code_key ON ref_state(country_id, code);

-- The job that removes objects without a row looks up objects of all tenants.
CREATE INDEX document_blob_path_idx ON document(blob_path);
-- The documents of one patient, in the order of the list (R-234).
CREATE INDEX document_tenant_id_patient_id_created_at_id_idx ON document(tenant_id, patient_id, created_at, id);

CREATE UNIQUE INDEX encounter_tenant_id_encounter_no_key ON encounter(tenant_id, encounter_no);
CREATE UNIQUE INDEX encounter_tenant_id_gfe_no_key ON encounter(tenant_id, gfe_no);
CREATE INDEX encounter_patient_clinic_idx ON encounter(tenant_id, patient_id, clinic_id, created_at, encounter_no);
CREATE INDEX encounter_tenant_id_clinic_id_created_at_encounter_no_idx
  ON encounter(tenant_id, clinic_id, created_at, encounter_no);
CREATE INDEX encounter_tenant_id_clinic_id_status_created_at_encounter_n_idx
  ON encounter(tenant_id, clinic_id, status, created_at, encounter_no);
CREATE INDEX encounter_tenant_id_created_at_encounter_no_idx ON encounter(tenant_id, created_at, encounter_no);
CREATE INDEX encounter_tenant_id_patient_id_created_at_encounter_no_idx
  ON encounter(tenant_id, patient_id, created_at, encounter_no);
CREATE INDEX encounter_tenant_id_review_type_created_at_encounter_no_idx
  ON encounter(tenant_id, review_type, created_at, encounter_no);
CREATE INDEX encounter_tenant_id_status_created_at_encounter_no_idx
  ON encounter(tenant_id, status, created_at, encounter_no);
CREATE INDEX encounter_tenant_id_updated_at_idx ON encounter(tenant_id, updated_at);
-- For the constraint encounter_completed_has_order.
CREATE INDEX encounter_completed_id_idx ON encounter(tenant_id, completed_id) WHERE completed_id IS NOT NULL;
-- The sweeps: encounters that nobody reviewed, lapsed claims.
CREATE INDEX encounter_expiry_idx ON encounter(tenant_id, expires_at)
  WHERE status NOT IN ('in_review', 'completed', 'denied', 'cancelled', 'expired');
CREATE INDEX encounter_lease_idx ON encounter(tenant_id, lease_expires_at) WHERE status = 'in_review';
-- For the constraints between rows.
CREATE UNIQUE INDEX encounter_phase_key ON encounter(tenant_id, id, phase);
-- The review queue in its order, of the tenant and of one state.
CREATE INDEX encounter_queue_idx
  ON encounter(tenant_id, service_queue, coalesce(scheduled_at, created_at), encounter_no)
  WHERE status = 'pending_review';
CREATE INDEX encounter_queue_state_idx
  ON encounter(tenant_id, service_queue, review_state, coalesce(scheduled_at, created_at), encounter_no)
  WHERE status = 'pending_review';
-- The encounters with one reference of the partner, in the order of the list (R-230).
CREATE INDEX encounter_reference_idx ON encounter(tenant_id, reference, created_at, encounter_no)
  WHERE reference IS NOT NULL;
-- The filter of schedules.
CREATE INDEX encounter_scheduled_idx ON encounter(tenant_id, scheduled_instant(scheduled_day, scheduled_at))
  WHERE scheduled_day IS NOT NULL;

CREATE UNIQUE INDEX encounter_treatment_tenant_id_encounter_id_product_id_key
  ON encounter_treatment(tenant_id, encounter_id, product_id);
-- The latest decision about a treatment of a patient at a clinic.
CREATE INDEX encounter_treatment_decision_idx
  ON encounter_treatment(tenant_id, patient_id, clinic_id, product_id, decided_at);

CREATE INDEX encounter_information_tenant_id_encounter_id_idx ON encounter_information(tenant_id, encounter_id);
-- One open question for each encounter.
CREATE UNIQUE INDEX encounter_information_open_key ON encounter_information(tenant_id, encounter_id)
  WHERE provided_at IS NULL;

CREATE INDEX encounter_addendum_tenant_id_encounter_id_idx ON encounter_addendum(tenant_id, encounter_id);

CREATE UNIQUE INDEX gfe_item_tenant_id_encounter_id_category_id_subcategory_id_key
  ON gfe_item(tenant_id, encounter_id, category_id, subcategory_id);
-- The sweeps: approvals that end soon, approvals that have ended.
CREATE INDEX gfe_item_expiring_idx ON gfe_item(tenant_id, valid_until)
  WHERE status = 'approved' AND valid_until IS NOT NULL
    AND expired_notified_at IS NULL AND expiring_notified_at IS NULL;
CREATE INDEX gfe_item_validity_idx ON gfe_item(tenant_id, valid_until)
  WHERE status = 'approved' AND valid_until IS NOT NULL
    AND expired_notified_at IS NULL;
-- The renewal list, of the tenant and of one clinic (R-225).
CREATE INDEX gfe_item_renewal_idx ON gfe_item(tenant_id, valid_until, id)
  WHERE status = 'approved' AND valid_until IS NOT NULL;
CREATE INDEX gfe_item_clinic_renewal_idx ON gfe_item(tenant_id, clinic_id, valid_until, id)
  WHERE status = 'approved' AND valid_until IS NOT NULL;

CREATE UNIQUE INDEX order_tenant_id_encounter_id_position_key ON "order"(tenant_id, encounter_id, position);
CREATE UNIQUE INDEX order_tenant_id_order_sequence_key ON "order"(tenant_id, order_sequence);
CREATE UNIQUE INDEX order_tenant_id_order_no_key ON "order"(tenant_id, order_no);
CREATE INDEX order_tenant_id_clinic_id_created_at_id_idx ON "order"(tenant_id, clinic_id, created_at, id);
CREATE INDEX order_tenant_id_created_at_id_idx ON "order"(tenant_id, created_at, id);
CREATE INDEX order_tenant_id_order_status_created_at_id_idx ON "order"(tenant_id, order_status, created_at, id);
CREATE INDEX order_tenant_id_updated_at_idx ON "order"(tenant_id, updated_at);

CREATE UNIQUE INDEX order_line_tenant_id_order_id_position_key ON order_line(tenant_id, order_id, position);
CREATE UNIQUE INDEX order_line_tenant_id_order_id_product_id_key ON order_line(tenant_id, order_id, product_id);
CREATE INDEX order_line_tenant_id_pharmacy_id_ordered_at_order_id_idx
  ON order_line(tenant_id, pharmacy_id, ordered_at, order_id);
-- The sweep that holds lines, and the list of held lines.
CREATE INDEX order_line_expires_at_idx ON order_line(tenant_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX order_line_held_idx ON order_line(tenant_id, ordered_at, order_id)
  WHERE hold_at IS NOT NULL OR expires_at IS NOT NULL;
-- The lines of an approval that ends.
CREATE INDEX order_line_tenant_id_gfe_item_id_idx ON order_line(tenant_id, gfe_item_id);
-- Orders with a line in one status, of one pharmacy and of the tenant.
CREATE INDEX order_line_tenant_id_pharmacy_id_status_ordered_at_order_id_idx
  ON order_line(tenant_id, pharmacy_id, status, ordered_at, order_id);
CREATE INDEX order_line_tenant_id_status_ordered_at_order_id_idx ON order_line(tenant_id, status, ordered_at, order_id);

CREATE INDEX payment_tenant_id_order_id_idx ON payment(tenant_id, order_id);

CREATE INDEX refund_tenant_id_order_id_idx ON refund(tenant_id, order_id);
CREATE INDEX refund_tenant_id_payment_id_idx ON refund(tenant_id, payment_id);

CREATE UNIQUE INDEX event_tenant_id_position_key ON event(tenant_id, position);
-- A replay reads the events of a period.
CREATE INDEX event_tenant_id_timestamp_idx ON event(tenant_id, timestamp);

CREATE UNIQUE INDEX webhook_delivery_tenant_id_event_id_endpoint_id_key
  ON webhook_delivery(tenant_id, event_id, endpoint_id);
CREATE INDEX webhook_delivery_tenant_id_endpoint_id_id_idx ON webhook_delivery(tenant_id, endpoint_id, id);
CREATE INDEX webhook_delivery_tenant_id_endpoint_id_status_id_idx
  ON webhook_delivery(tenant_id, endpoint_id, status, id);
-- Due deliveries are few among the delivered ones.
CREATE INDEX webhook_delivery_waiting_idx ON webhook_delivery(tenant_id, endpoint_id, next_attempt_at)
  WHERE status = 'waiting';

-- Keys are purged tenant by tenant.
CREATE INDEX idempotency_key_tenant_id_created_at_idx ON idempotency_key(tenant_id, created_at);

-- For exports: rows are nearly in the order of their times.
CREATE INDEX audit_event_at_idx ON audit_event USING brin (at);
-- The insert that fills the pending list empties it, so a short list keeps every insert short.
CREATE INDEX audit_event_patient_ids_idx ON audit_event USING gin (tenant_id, patient_ids)
  WITH (gin_pending_list_limit = 256);

-- Foreign keys -------------------------------------------------------------------------------------------------------

-- Checked at the end of the transaction: a distributed PostgreSQL runs the parts of a combined statement one after the other.

ALTER TABLE provider
  ADD CONSTRAINT provider_tenant_id_fkey
    FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE provider_license
  ADD CONSTRAINT provider_license_tenant_id_provider_id_fkey
    FOREIGN KEY (tenant_id, provider_id) REFERENCES provider(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE api_client
  ADD CONSTRAINT api_client_tenant_id_fkey
    FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE api_client_secret
  ADD CONSTRAINT api_client_secret_tenant_id_api_client_id_fkey
    FOREIGN KEY (tenant_id, api_client_id) REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE clinic
  ADD CONSTRAINT clinic_tenant_id_fkey
    FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE clinic_location
  ADD CONSTRAINT clinic_location_tenant_id_clinic_id_fkey
    FOREIGN KEY (tenant_id, clinic_id) REFERENCES clinic(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE category
  ADD CONSTRAINT category_tenant_id_fkey
    FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE subcategory
  ADD CONSTRAINT subcategory_tenant_id_category_id_fkey
    FOREIGN KEY (tenant_id, category_id) REFERENCES category(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE product
  ADD CONSTRAINT product_tenant_id_category_id_fkey
    FOREIGN KEY (tenant_id, category_id) REFERENCES category(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT product_tenant_id_category_id_subcategory_id_fkey
    FOREIGN KEY (tenant_id, category_id, subcategory_id)
      REFERENCES subcategory(tenant_id, category_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT product_tenant_id_fkey
    FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE product_rx
  ADD CONSTRAINT product_rx_tenant_id_product_id_fkey
    FOREIGN KEY (tenant_id, product_id) REFERENCES product(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE product_offer
  ADD CONSTRAINT product_offer_tenant_id_product_id_fkey
    FOREIGN KEY (tenant_id, product_id) REFERENCES product(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE offer_variant
  ADD CONSTRAINT offer_variant_tenant_id_product_offer_id_fkey
    FOREIGN KEY (tenant_id, product_offer_id)
      REFERENCES product_offer(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE clinic_availability
  ADD CONSTRAINT clinic_availability_tenant_id_clinic_id_fkey
    FOREIGN KEY (tenant_id, clinic_id) REFERENCES clinic(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT clinic_availability_tenant_id_product_id_fkey
    FOREIGN KEY (tenant_id, product_id) REFERENCES product(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE client
  ADD CONSTRAINT client_tenant_id_created_by_api_client_id_fkey
    FOREIGN KEY (tenant_id, created_by_api_client_id)
      REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT client_tenant_id_fkey
    FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE document
  ADD CONSTRAINT document_tenant_id_patient_id_fkey
    FOREIGN KEY (tenant_id, patient_id) REFERENCES client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT document_tenant_id_uploaded_by_id_fkey
    FOREIGN KEY (tenant_id, uploaded_by_id) REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE encounter
  ADD CONSTRAINT encounter_tenant_id_claimed_by_id_fkey
    FOREIGN KEY (tenant_id, claimed_by_id) REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT encounter_tenant_id_clinic_id_fkey
    FOREIGN KEY (tenant_id, clinic_id) REFERENCES clinic(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT encounter_tenant_id_patient_id_fkey
    FOREIGN KEY (tenant_id, patient_id) REFERENCES client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT encounter_tenant_id_reviewed_by_id_fkey
    FOREIGN KEY (tenant_id, reviewed_by_id) REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE encounter_treatment
  ADD CONSTRAINT encounter_treatment_tenant_id_encounter_id_fkey
    FOREIGN KEY (tenant_id, encounter_id) REFERENCES encounter(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT encounter_treatment_tenant_id_product_id_fkey
    FOREIGN KEY (tenant_id, product_id) REFERENCES product(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE encounter_document
  ADD CONSTRAINT encounter_document_tenant_id_document_id_fkey
    FOREIGN KEY (tenant_id, document_id) REFERENCES document(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT encounter_document_tenant_id_encounter_id_fkey
    FOREIGN KEY (tenant_id, encounter_id) REFERENCES encounter(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE encounter_information
  ADD CONSTRAINT encounter_information_tenant_id_encounter_id_fkey
    FOREIGN KEY (tenant_id, encounter_id) REFERENCES encounter(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE encounter_addendum
  ADD CONSTRAINT encounter_addendum_tenant_id_encounter_id_fkey
    FOREIGN KEY (tenant_id, encounter_id) REFERENCES encounter(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE gfe_item
  ADD CONSTRAINT gfe_item_tenant_id_encounter_id_fkey
    FOREIGN KEY (tenant_id, encounter_id) REFERENCES encounter(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE "order"
  ADD CONSTRAINT order_tenant_id_encounter_id_fkey
    FOREIGN KEY (tenant_id, encounter_id) REFERENCES encounter(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE order_line
  ADD CONSTRAINT order_line_tenant_id_gfe_item_id_fkey
    FOREIGN KEY (tenant_id, gfe_item_id) REFERENCES gfe_item(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT order_line_tenant_id_order_id_fkey
    FOREIGN KEY (tenant_id, order_id) REFERENCES "order"(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE payment
  ADD CONSTRAINT payment_tenant_id_api_client_id_fkey
    FOREIGN KEY (tenant_id, api_client_id) REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT payment_tenant_id_order_id_fkey
    FOREIGN KEY (tenant_id, order_id) REFERENCES "order"(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE refund
  ADD CONSTRAINT refund_tenant_id_api_client_id_fkey
    FOREIGN KEY (tenant_id, api_client_id) REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT refund_tenant_id_order_id_fkey
    FOREIGN KEY (tenant_id, order_id) REFERENCES "order"(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT refund_tenant_id_payment_id_fkey
    FOREIGN KEY (tenant_id, payment_id) REFERENCES payment(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhook_endpoint
  ADD CONSTRAINT webhook_endpoint_tenant_id_api_client_id_fkey
    FOREIGN KEY (tenant_id, api_client_id) REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhook_delivery
  ADD CONSTRAINT webhook_delivery_tenant_id_endpoint_id_fkey
    FOREIGN KEY (tenant_id, endpoint_id)
      REFERENCES webhook_endpoint(tenant_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT webhook_delivery_tenant_id_event_id_fkey
    FOREIGN KEY (tenant_id, event_id) REFERENCES event(tenant_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE idempotency_key
  ADD CONSTRAINT idempotency_key_tenant_id_api_client_id_fkey
    FOREIGN KEY (tenant_id, api_client_id) REFERENCES api_client(tenant_id, id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;

-- Constraints between rows -------------------------------------------------------------------------------------------

-- An encounter's phase is what its items and its order refer to. Changes of one transaction pass through states that break
-- these constraints, so they are checked at its end. Sums of an order are checked by triggers.

-- A pending item implies an open encounter.
ALTER TABLE gfe_item
  ADD CONSTRAINT gfe_item_pending_of_open_encounter FOREIGN KEY (tenant_id, encounter_id, encounter_phase)
    REFERENCES encounter(tenant_id, id, phase) DEFERRABLE INITIALLY DEFERRED;
-- An order implies a completed encounter, and a completed encounter an order.
ALTER TABLE "order"
  ADD CONSTRAINT order_of_completed_encounter FOREIGN KEY (tenant_id, encounter_id, encounter_phase)
    REFERENCES encounter(tenant_id, id, phase) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE encounter
  ADD CONSTRAINT encounter_completed_has_order FOREIGN KEY (tenant_id, completed_id, first_order)
    REFERENCES "order"(tenant_id, encounter_id, position) DEFERRABLE INITIALLY DEFERRED;
-- An order has a line: the one at position 0.
ALTER TABLE "order"
  ADD CONSTRAINT order_has_line FOREIGN KEY (tenant_id, id, first_position)
    REFERENCES order_line(tenant_id, order_id, position) DEFERRABLE INITIALLY DEFERRED;

-- Functions and triggers ---------------------------------------------------------------------------------------------

-- The oldest generation of servers that works on this schema (GENERATION in src/adapters/database/migrations.ts). A
-- migration that breaks older servers replaces it by one that returns a higher number.
CREATE FUNCTION oldest_generation() RETURNS INTEGER LANGUAGE sql IMMUTABLE AS $$SELECT 1$$;

-- The columns that a chart shows as facts (R-210), by kind. A statement that changes them cannot forget that approvals
-- depend on them.
CREATE FUNCTION count_facts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  version BIGINT := OLD."facts_version" + 1;
BEGIN
  NEW."facts_version" := version;
  IF NEW."medical_history" IS DISTINCT FROM OLD."medical_history" THEN
    NEW."facts_changes" := NEW."facts_changes" || jsonb_build_object('medicalHistory', version);
  END IF;
  IF NEW."notes" IS DISTINCT FROM OLD."notes" THEN
    NEW."facts_changes" := NEW."facts_changes" || jsonb_build_object('notes', version);
  END IF;
  IF (NEW.first_name, NEW.last_name, NEW.date_of_birth, NEW.sex, NEW.state_id, NEW.gfe_state_id, NEW.insurance_info,
      NEW.guardian) IS DISTINCT FROM (OLD.first_name, OLD.last_name, OLD.date_of_birth, OLD.sex, OLD.state_id,
      OLD.gfe_state_id, OLD.insurance_info, OLD.guardian) THEN
    NEW."facts_changes" := NEW."facts_changes" || jsonb_build_object('patient', version);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER client_facts BEFORE UPDATE OF first_name, last_name, date_of_birth, sex, state_id, gfe_state_id,
    medical_history, notes, insurance_info, guardian ON client FOR EACH ROW
  WHEN ((NEW.first_name, NEW.last_name, NEW.date_of_birth, NEW.sex, NEW.state_id, NEW.gfe_state_id,
      NEW.medical_history, NEW.notes, NEW.insurance_info, NEW.guardian)
    IS DISTINCT FROM (OLD.first_name, OLD.last_name, OLD.date_of_birth, OLD.sex, OLD.state_id, OLD.gfe_state_id,
      OLD.medical_history, OLD.notes, OLD.insurance_info, OLD.guardian))
  EXECUTE FUNCTION count_facts();

-- The version of a patient's record, for If-Match (R-231). A time cannot tell two changes of one millisecond apart.
-- Facts that are counted in the row change no field of the record, and do not set updated_at.
CREATE FUNCTION count_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."version" := OLD."version" + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER client_version BEFORE UPDATE OF updated_at ON client FOR EACH ROW EXECUTE FUNCTION count_version();

-- Final states never change; that an approval ran out is computed from valid_until, not stored. The conditions are the
-- triggers' own, so that a lawful change calls no function.
CREATE FUNCTION refuse_final_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'constraint "%": a final status never changes', TG_NAME
    USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
END $$;
CREATE TRIGGER encounter_final BEFORE UPDATE OF status ON encounter FOR EACH ROW
  WHEN (OLD.status IN ('completed', 'denied', 'cancelled', 'expired') AND NEW.status <> OLD.status)
  EXECUTE FUNCTION refuse_final_change();
CREATE TRIGGER gfe_item_final BEFORE UPDATE OF status ON gfe_item FOR EACH ROW
  WHEN (OLD.status <> 'pending_review' AND NEW.status <> OLD.status
    AND NOT (OLD.status = 'approved' AND NEW.status IN ('superseded', 'revoked')))
  EXECUTE FUNCTION refuse_final_change();

-- An open encounter implies a pending item, which a foreign key cannot express. Only a new encounter, and one whose pending
-- item is decided or deleted, can break it: an encounter never opens again. Code that decides items has updated the
-- encounter's row before, so two transactions never do it at once.
CREATE FUNCTION require_pending_item() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  of_tenant TEXT;
  of_encounter UUID;
BEGIN
  -- Not TG_TABLE_NAME: in a distributed PostgreSQL it is the name of a shard.
  IF TG_OP = 'INSERT' THEN
    of_tenant := NEW."tenant_id";
    of_encounter := NEW."id";
  ELSE
    of_tenant := OLD."tenant_id";
    of_encounter := OLD."encounter_id";
  END IF;
  IF EXISTS (SELECT FROM "encounter" WHERE "tenant_id" = of_tenant AND "id" = of_encounter AND "phase" = 'open')
    AND NOT EXISTS (SELECT FROM "gfe_item"
      WHERE "tenant_id" = of_tenant AND "encounter_id" = of_encounter AND "status" = 'pending_review') THEN
    RAISE EXCEPTION 'constraint "%": an encounter that waits for its review has no pending item', TG_NAME
      USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER encounter_open_has_pending_item AFTER INSERT ON encounter
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.status NOT IN ('completed', 'denied', 'cancelled', 'expired')) EXECUTE FUNCTION require_pending_item();
CREATE CONSTRAINT TRIGGER gfe_item_open_has_pending_item AFTER UPDATE OR DELETE ON gfe_item
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.status = 'pending_review') EXECUTE FUNCTION require_pending_item();

-- At the end of a transaction that pays or refunds, the amounts of an order and its payments are the sums of its rows.
CREATE FUNCTION require_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM "payment" WHERE "tenant_id" = NEW."tenant_id" AND "order_id" = NEW."order_id"
      AND "refunded_amt" <> (SELECT coalesce(sum("amount"), 0) FROM "refund"
        WHERE "tenant_id" = NEW."tenant_id" AND "payment_id" = "payment"."id"))
    OR (SELECT "paid_amt" FROM "order" WHERE "tenant_id" = NEW."tenant_id" AND "id" = NEW."order_id")
      <> (SELECT sum("amount" - "refunded_amt") FROM "payment"
        WHERE "tenant_id" = NEW."tenant_id" AND "order_id" = NEW."order_id")
    OR (SELECT "refunded_amt" FROM "order" WHERE "tenant_id" = NEW."tenant_id" AND "id" = NEW."order_id")
      <> (SELECT sum("refunded_amt") FROM "payment"
        WHERE "tenant_id" = NEW."tenant_id" AND "order_id" = NEW."order_id") THEN
    RAISE EXCEPTION 'constraint "%": the sums of an order are not those of its payments and refunds', TG_NAME
      USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER payment_sums AFTER INSERT OR UPDATE ON payment
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_sums();
CREATE CONSTRAINT TRIGGER refund_sums AFTER INSERT OR UPDATE ON refund
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_sums();

-- A sandbox's clock after the lock is held: each statement of a volatile function sees what is committed by then.
CREATE FUNCTION clock_under_lock(tenant_id TEXT, lock BIGINT) RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared("lock");
  RETURN (SELECT "clock_offset_ms" FROM "tenant" WHERE "id" = "tenant_id");
END $$;

-- Rows of the audit are only added (R-87). The operator's retention deletes them, and says so by the setting; so does the
-- layout of a cluster, which removes the copies that it has distributed.
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('audit.retention', true) = 'on' AND TG_OP IN ('DELETE', 'TRUNCATE') THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_event_append_only BEFORE UPDATE OR DELETE ON audit_event
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_event_no_truncate BEFORE TRUNCATE ON audit_event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_seal_append_only BEFORE UPDATE OR DELETE ON audit_seal
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_seal_no_truncate BEFORE TRUNCATE ON audit_seal
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- The service writes seals, so a seal that states a removal must come from a role that may delete (R-88): otherwise a forged
-- one would hide that rows are missing.
CREATE FUNCTION refuse_removal_seal() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF has_table_privilege(TG_RELID, 'DELETE') THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'only a role that may delete from % records a removal', TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_seal_removal BEFORE INSERT ON audit_seal FOR EACH ROW WHEN (NEW.removes IS NOT NULL)
  EXECUTE FUNCTION refuse_removal_seal();

-- Reference rows -----------------------------------------------------------------------------------------------------

-- The states, territories and district of the United States.
INSERT INTO ref_state (id, code, name, country_id, country_code)
  SELECT id::uuid, code, name, '01a05c32-5e80-7000-8000-000000000840', 'US' FROM (VALUES
    ('01a1fa1d-8101-7b81-8b2d-451c62f746b4', 'AL', 'Alabama'),
    ('01a1fa1d-8102-723a-b61e-6ba536824dd6', 'AK', 'Alaska'),
    ('01a1fa1d-8103-7ec4-9b2b-a06b6ae12c97', 'AZ', 'Arizona'),
    ('01a1fa1d-8104-7225-aca4-a1a9f5b19f71', 'AR', 'Arkansas'),
    ('01a1fa1d-8105-74f0-a052-e52bdc36fc90', 'CA', 'California'),
    ('01a1fa1d-8106-777b-a500-bddf37b00307', 'CO', 'Colorado'),
    ('01a1fa1d-8107-754b-9a2e-c0035e0e14ca', 'CT', 'Connecticut'),
    ('01a1fa1d-8108-7a86-953a-5154281fa6f5', 'DE', 'Delaware'),
    ('01a1fa1d-8109-7169-8c83-cf3b8c0a70a7', 'DC', 'District of Columbia'),
    ('01a1fa1d-810a-71dc-8db3-17d94c8edfa3', 'FL', 'Florida'),
    ('01a1fa1d-810b-7939-988e-fbceb71ed78a', 'GA', 'Georgia'),
    ('01a1fa1d-810c-766f-8859-90d2e844c762', 'HI', 'Hawaii'),
    ('01a1fa1d-810d-760d-9097-c0405e571eaa', 'ID', 'Idaho'),
    ('01a1fa1d-810e-75e5-9df6-f817b0992bcf', 'IL', 'Illinois'),
    ('01a1fa1d-810f-78c3-86a9-42d303f84c48', 'IN', 'Indiana'),
    ('01a1fa1d-8110-75a4-bda9-d8c096d38ff5', 'IA', 'Iowa'),
    ('01a1fa1d-8111-77ed-aed9-1f2e3af9f30c', 'KS', 'Kansas'),
    ('01a1fa1d-8112-76be-baa2-919c0ded97bb', 'KY', 'Kentucky'),
    ('01a1fa1d-8113-79cc-8b47-02d25e05c990', 'LA', 'Louisiana'),
    ('01a1fa1d-8114-7862-851b-ec1ede27387c', 'ME', 'Maine'),
    ('01a1fa1d-8115-77af-9438-155150d00787', 'MD', 'Maryland'),
    ('01a1fa1d-8116-7fc9-ba8d-9ccd7582329f', 'MA', 'Massachusetts'),
    ('01a1fa1d-8117-7671-85d2-8c06620602e0', 'MI', 'Michigan'),
    ('01a1fa1d-8118-700d-9eda-7e46a386c4a7', 'MN', 'Minnesota'),
    ('01a1fa1d-8119-7bae-936b-7ac2bce1cb34', 'MS', 'Mississippi'),
    ('01a1fa1d-811a-709d-b592-b89ff910d68a', 'MO', 'Missouri'),
    ('01a1fa1d-811b-7a9d-8eaf-6d618434d99c', 'MT', 'Montana'),
    ('01a1fa1d-811c-7340-9b24-10a6f0ae1284', 'NE', 'Nebraska'),
    ('01a1fa1d-811d-7c04-aba3-3d67944782d7', 'NV', 'Nevada'),
    ('01a1fa1d-811e-7278-9013-79c7d2ab5d67', 'NH', 'New Hampshire'),
    ('01a1fa1d-811f-7543-89f2-8a8adecf9580', 'NJ', 'New Jersey'),
    ('01a1fa1d-8120-7562-b859-93a74865d3ee', 'NM', 'New Mexico'),
    ('01a1fa1d-8121-7060-a141-19cf6d84cc79', 'NY', 'New York'),
    ('01a1fa1d-8122-7c7f-be2f-bd720bdcb5d3', 'NC', 'North Carolina'),
    ('01a1fa1d-8123-7049-8233-eb557ff959b7', 'ND', 'North Dakota'),
    ('01a1fa1d-8124-712e-b1e9-f4fd46b1f9d2', 'OH', 'Ohio'),
    ('01a1fa1d-8125-7036-b938-eca42ccd5f71', 'OK', 'Oklahoma'),
    ('01a1fa1d-8126-70f0-9404-cd3aec32db3b', 'OR', 'Oregon'),
    ('01a1fa1d-8127-7601-8663-5a99e910fc8d', 'PA', 'Pennsylvania'),
    ('01a1fa1d-8128-7fb6-bda0-39233dde8fcb', 'RI', 'Rhode Island'),
    ('01a1fa1d-8129-74fa-9f6d-26b2d4ae6af5', 'SC', 'South Carolina'),
    ('01a1fa1d-812a-78d1-9b39-16640d9792c1', 'SD', 'South Dakota'),
    ('01a1fa1d-812b-7e88-a2aa-b6fe0d5feb54', 'TN', 'Tennessee'),
    ('01a05c32-5e80-7000-8000-000000005048', 'TX', 'Texas'),
    ('01a1fa1d-812d-737c-8222-8d485d0991e0', 'UT', 'Utah'),
    ('01a1fa1d-812e-7036-8b21-ea852a848829', 'VT', 'Vermont'),
    ('01a1fa1d-812f-7c1a-8a62-4ac17ac0cddb', 'VA', 'Virginia'),
    ('01a1fa1d-8130-7a8d-a27d-239fdf8adf39', 'WA', 'Washington'),
    ('01a1fa1d-8131-788b-add0-3c874ca8c324', 'WV', 'West Virginia'),
    ('01a1fa1d-8132-780f-99fb-18e8eef6aac4', 'WI', 'Wisconsin'),
    ('01a1fa1d-8133-7f76-8f18-de536895bc43', 'WY', 'Wyoming'),
    ('01a1fa1d-8134-7525-9362-3b53b93e295f', 'AS', 'American Samoa'),
    ('01a1fa1d-8135-7099-b688-672695814675', 'GU', 'Guam'),
    ('01a1fa1d-8136-78a3-9de5-a8811aafd366', 'MP', 'Northern Mariana Islands'),
    ('01a1fa1d-8137-7103-b9a8-eab819b343bb', 'PR', 'Puerto Rico'),
    ('01a1fa1d-8138-7725-a518-182b5e200159', 'VI', 'U.S. Virgin Islands')
  ) AS state(id, code, name);
