CREATE TABLE "sweep_failure" (
    "tenant_id" TEXT NOT NULL,
    "row_id" UUID NOT NULL,
    "failures" INTEGER NOT NULL,
    "retry_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sweep_failure_pkey" PRIMARY KEY ("tenant_id","row_id")
);
