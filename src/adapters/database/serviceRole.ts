import { escapeIdentifier, escapeLiteral } from 'pg';
import { roleOf } from './databaseUrl.js';
import { withClient } from './withClient.js';

/** The advisory lock of granting: a fixed, otherwise unused number. */
const LOCK = 0x63_65_73_03;
/** Append-only tables. */
const AUDIT_TABLES = '^audit_(event|seal)';

/**
 * Lets the service's role, if it has its own, use all tables; it may not change audited rows or recorded migrations.
 * @throws the driver's error, for example if the role does not exist
 */
export async function grantServiceRights(ownerUrl: string, serviceUrl: string): Promise<void> {
  const role = roleOf(serviceUrl);
  if (role === roleOf(ownerUrl)) return;
  await withClient({ connectionString: ownerUrl, connectionTimeoutMillis: 5_000 }, async (client) => {
    const { rows } = await client.query(
      `SELECT FROM pg_class WHERE relnamespace IN ('public'::regnamespace, 'graphile_worker'::regnamespace)
         AND relkind IN ('r', 'p', 'v') AND (NOT has_table_privilege($1, oid, 'SELECT')
           OR relname ~ '${AUDIT_TABLES}' AND has_table_privilege($1, oid, 'UPDATE, DELETE, TRUNCATE')) LIMIT 1`,
      [role],
    );
    if (rows.length > 0) await client.query(grantsTo(role));
  });
}

/** The job engine's tables have row level security without a policy, so that only their owner would see rows. */
const grantsTo = (name: string, role = escapeIdentifier(name)): string => `
  BEGIN;
  SELECT pg_advisory_xact_lock(${LOCK});
  REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  GRANT USAGE ON SCHEMA public, graphile_worker TO ${role};
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public, graphile_worker TO ${role};
  GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public, graphile_worker TO ${role};
  REVOKE INSERT, UPDATE, DELETE ON public._prisma_migrations, graphile_worker.migrations FROM ${role};
  DO $$
    DECLARE one regclass;
    BEGIN
      FOR one IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND relname ~ '${AUDIT_TABLES}'
      LOOP
        EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON %s FROM %I', one, ${escapeLiteral(name)});
      END LOOP;
      FOR one IN SELECT oid FROM pg_class WHERE relnamespace = 'graphile_worker'::regnamespace AND relrowsecurity LOOP
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', one);
      END LOOP;
    END
  $$;
  COMMIT`;
