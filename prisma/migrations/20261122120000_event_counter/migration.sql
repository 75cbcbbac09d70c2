-- Events get positions, in the order that the feed had.
CREATE TABLE "event_counter" (
    "tenant_id" TEXT NOT NULL,
    "position" BIGINT NOT NULL,

    CONSTRAINT "event_counter_pkey" PRIMARY KEY ("tenant_id")
);

ALTER TABLE "event" ADD COLUMN "position" BIGINT;
UPDATE "event" AS e SET "position" = ordered."position" FROM (
  SELECT "tenant_id", "id", row_number() OVER (PARTITION BY "tenant_id" ORDER BY "xid", "sequence") AS "position"
  FROM "event") AS ordered
  WHERE ordered."tenant_id" = e."tenant_id" AND ordered."id" = e."id";
INSERT INTO "event_counter" SELECT "tenant_id", max("position") FROM "event" GROUP BY "tenant_id";

DROP INDEX "event_recorded_at_idx";
DROP INDEX "event_tenant_id_xid_sequence_idx";
ALTER TABLE "event"
  ALTER COLUMN "position" SET NOT NULL,
  DROP COLUMN "sequence",
  DROP COLUMN "xid";
CREATE UNIQUE INDEX "event_tenant_id_position_key" ON "event"("tenant_id", "position");

ALTER TABLE "tenant"
  DROP COLUMN "events_purged_sequence",
  DROP COLUMN "events_purged_xid";
