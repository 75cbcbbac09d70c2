-- Locks: SHARE UPDATE EXCLUSIVE client; reads all rows
-- Patients with one last name, in any case, and birth date (R-239). The condition, which always holds, marks it as a part that
-- schema.prisma omits, because it cannot express lower().
CREATE INDEX CONCURRENTLY IF NOT EXISTS "client_name_idx"
  ON "client"("tenant_id", "date_of_birth", lower("last_name"), "created_at", "id")
  WHERE "last_name" IS NOT NULL;
