import { escapeIdentifier, escapeLiteral } from 'pg';
import type { Queries } from './statements.js';
import { messageOf } from '../../failures.js';
import { sqlState } from './databaseErrors.js';
import { roleOf } from './databaseUrl.js';
import { REPEAT } from './lockRetries.js';
import { withClient } from './withClient.js';

/** Number of the advisory lock for granting rights; fixed, and unused elsewhere. */
const LOCK = 0x63_65_73_03;
/** Tables that the service may only read and append to. */
const AUDIT_TABLES = '^audit_(event|seal)';

/**
 * Grants the role of `serviceUrl` the use of all tables, unless it is the owner. It may not change audit rows or the
 * record of migrations. @throws Error if the role does not exist, or the driver's
 */
export async function grantServiceRights(ownerUrl: string, serviceUrl: string): Promise<void> {
  const role = roleOf(serviceUrl);
  if (role === roleOf(ownerUrl)) return;
  const config = { connectionString: ownerUrl, connectionTimeoutMillis: 5_000 };
  await withClient(config, (client) => client.query(grantsTo(role))).catch((cause: unknown) => {
    // SQLSTATE 42704 means an undefined object: the statements name only the role.
    if (sqlState(cause) !== '42704') throw cause;
    const advice =
      'Create it (scripts/production/database.md#roles), with Citus on every node, or correct the URL that names it';
    throw new Error(`${messageOf(cause)}. ${advice}${REPEAT}`, { cause });
  });
}

/**
 * `missing`: tables on which the connected role lacks a right that the service needs. `isOwner`: it may create
 * tables or change the audit, which {@link grantServiceRights} does not grant.
 */
export async function rightsOfRole({ everyTenant }: Queries): Promise<{ missing: string[]; isOwner: boolean }> {
  const [rights] = await everyTenant.rows<{ missing: string[]; isOwner: boolean }>`
    SELECT coalesce(array_agg(relname::text ORDER BY relname) FILTER (WHERE NOT may_use), '{}') AS missing,
      has_schema_privilege('public', 'CREATE') OR coalesce(bool_or(may_change_audit), false) AS "isOwner"
    FROM pg_class, LATERAL (SELECT relname ~ ${AUDIT_TABLES} AS is_audit,
        oid = to_regclass('public._prisma_migrations') AS is_record) AS kind,
      LATERAL (SELECT is_audit AND has_table_privilege(oid, 'UPDATE, DELETE, TRUNCATE') AS may_change_audit,
        has_table_privilege(oid, 'SELECT') AND (is_record OR has_table_privilege(oid, 'INSERT')
          AND (is_audit OR has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))) AS may_use) AS rights
    WHERE relnamespace = to_regnamespace('public') AND relkind IN ('r', 'p')`;
  return rights ?? { missing: [], isOwner: false };
}

const grantsTo = (name: string, role = escapeIdentifier(name)): string => `
  BEGIN;
  SELECT pg_advisory_xact_lock(${LOCK});
  REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  GRANT USAGE ON SCHEMA public TO ${role};
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role};
  GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO ${role};
  REVOKE INSERT, UPDATE, DELETE ON public._prisma_migrations FROM ${role};
  DO $$
    DECLARE one regclass;
    BEGIN
      FOR one IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND relname ~ '${AUDIT_TABLES}'
      LOOP
        EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON %s FROM %I', one, ${escapeLiteral(name)});
      END LOOP;
    END
  $$;
  COMMIT`;
