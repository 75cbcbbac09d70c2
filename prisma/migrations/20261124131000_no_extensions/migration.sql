-- No index has used them since the migration of list totals. They stay where an administrator made them, or where
-- something else uses them.
DO $$ BEGIN
  DROP EXTENSION IF EXISTS pg_trgm, btree_gin;
EXCEPTION WHEN insufficient_privilege OR dependent_objects_still_exist THEN NULL;
END $$;
