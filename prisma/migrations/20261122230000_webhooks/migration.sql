CREATE TYPE "webhook_status" AS ENUM ('active', 'disabled');
CREATE TYPE "delivery_status" AS ENUM ('waiting', 'delivered', 'failed');

CREATE TABLE "webhook_endpoint" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "api_client_id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "types" "event_type"[],
    "description" TEXT,
    "status" "webhook_status" NOT NULL DEFAULT 'active',
    "disabled_reason" TEXT,
    "secret" BYTEA NOT NULL,
    "previous_secret" BYTEA,
    "previous_secret_until" TIMESTAMPTZ(3),
    "from_position" BIGINT NOT NULL,
    "last_success_at" TIMESTAMPTZ(3),
    "last_failure_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "busy_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_endpoint_pkey" PRIMARY KEY ("tenant_id", "id"),
    CONSTRAINT "webhook_endpoint_disabled" CHECK (("status" = 'disabled') = ("disabled_reason" IS NOT NULL)),
    CONSTRAINT "webhook_endpoint_previous_secret" CHECK (("previous_secret" IS NULL) = ("previous_secret_until" IS NULL))
);
ALTER TABLE "webhook_endpoint" ADD CONSTRAINT "webhook_endpoint_tenant_id_api_client_id_fkey" FOREIGN KEY ("tenant_id", "api_client_id") REFERENCES "api_client"("tenant_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE "webhook_cursor" (
    "tenant_id" TEXT NOT NULL,
    "position" BIGINT NOT NULL,

    CONSTRAINT "webhook_cursor_pkey" PRIMARY KEY ("tenant_id")
);

CREATE TABLE "webhook_delivery" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "event_id" UUID NOT NULL,
    "status" "delivery_status" NOT NULL DEFAULT 'waiting',
    "failures" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "attempts" JSONB NOT NULL DEFAULT '[]',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_delivery_pkey" PRIMARY KEY ("tenant_id", "id"),
    CONSTRAINT "webhook_delivery_waiting" CHECK (("status" = 'waiting') = ("next_attempt_at" IS NOT NULL))
);
CREATE UNIQUE INDEX "webhook_delivery_tenant_id_event_id_endpoint_id_key" ON "webhook_delivery"("tenant_id", "event_id", "endpoint_id");
CREATE INDEX "webhook_delivery_tenant_id_endpoint_id_id_idx" ON "webhook_delivery"("tenant_id", "endpoint_id", "id");
-- What is due is few among what was delivered.
CREATE INDEX "webhook_delivery_waiting_idx" ON "webhook_delivery"("tenant_id", "endpoint_id", "next_attempt_at") WHERE "status" = 'waiting';
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_tenant_id_endpoint_id_fkey" FOREIGN KEY ("tenant_id", "endpoint_id") REFERENCES "webhook_endpoint"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_tenant_id_event_id_fkey" FOREIGN KEY ("tenant_id", "event_id") REFERENCES "event"("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "webhook_inbox_message" (
    "id" UUID NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "headers" JSONB NOT NULL,
    "body" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_inbox_message_pkey" PRIMARY KEY ("tenant_id", "id")
);

CREATE TABLE "webhook_inbox" (
    "tenant_id" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "delay_ms" INTEGER NOT NULL,

    CONSTRAINT "webhook_inbox_pkey" PRIMARY KEY ("tenant_id")
);
