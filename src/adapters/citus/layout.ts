import { escapeIdentifier } from 'pg';
import type { Connection } from '../database/withClient.js';

/** Where Citus keeps a table: its rows by tenant, a copy on every node, or the coordinator alone. */
export type Place = 'distributed' | 'reference' | 'local';

export interface PlacedTable {
  readonly table: string;
  readonly place: Place;
  /** Whether the table is in its place already. */
  readonly isPlaced: boolean;
}

/** Tables that stay on the coordinator, because no statement joins them. */
const LOCAL = ['_prisma_migrations', 'job_run', 'restore_incomplete'];

/**
 * The place of each table: {@link LOCAL} tables stay on the coordinator, a table whose primary key has `tenant_id` is
 * distributed by it, and `tenant` by its id; others are reference tables, the same for all tenants.
 */
export async function placesOf(client: Pick<Connection, 'query'>): Promise<PlacedTable[]> {
  const { rows } = await client.query<PlacedTable>(
    `SELECT relname AS table, place, CASE place
        WHEN 'distributed' THEN partmethod IS NOT DISTINCT FROM 'h'
        WHEN 'reference' THEN partmethod IS NOT DISTINCT FROM 'n'
        ELSE true END AS "isPlaced"
      FROM pg_class LEFT JOIN pg_dist_partition ON logicalrelid = pg_class.oid,
        LATERAL (SELECT CASE WHEN relname = ANY ($1) THEN 'local' WHEN relname = 'tenant' THEN 'distributed'
          WHEN EXISTS (SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
            WHERE indrelid = pg_class.oid AND indisprimary AND attname = 'tenant_id') THEN 'distributed'
          ELSE 'reference' END AS place) AS placed
      WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY place DESC, relname`,
    [LOCAL],
  );
  return rows;
}

/**
 * Settings for changes of the schema in a transaction that also touches reference tables. Triggers read rows of the same
 * tenant only, which are on the same node. PostgreSQL without Citus ignores those of Citus.
 */
export const SCHEMA_CHANGES = `SET LOCAL citus.multi_shard_modify_mode = 'sequential';
  SET LOCAL citus.enable_unsafe_triggers = on; SET LOCAL client_min_messages = warning`;

/**
 * Puts all tables in their places, with their rows, inside the caller's transaction, which has {@link SCHEMA_CHANGES}.
 * Drops foreign keys and deferred triggers, and creates them again at the end: Citus needs both tables of a key in
 * place, and a deferred trigger that awaits the commit blocks changes of its table.
 * @returns the tables that were not in their places
 */
export async function placeTables(client: Connection): Promise<PlacedTable[]> {
  const missing = (await placesOf(client)).filter(({ isPlaced }) => !isPlaced);
  if (missing.length === 0) return [];
  const { rows: checks } = await client.query<{ drop: string; create: string }>(
    `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS drop,
        format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS create
      FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace
        AND (conrelid = ANY ($1::regclass[]) OR confrelid = ANY ($1::regclass[]))
      UNION ALL SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass), pg_get_triggerdef(oid)
      FROM pg_trigger WHERE tginitdeferred AND NOT tgisinternal AND tgrelid = ANY ($1::regclass[])`,
    [missing.map(({ table }) => escapeIdentifier(table))],
  );
  for (const { drop } of checks) await client.query(drop);
  for (const { table, place } of missing) await placeTable(client, table, place);
  for (const { create } of checks) await client.query(create);
  return missing;
}

async function placeTable(client: Connection, table: string, place: Place): Promise<void> {
  const name = escapeIdentifier(table);
  if (place === 'reference') await client.query('SELECT create_reference_table($1)', [name]);
  if (place !== 'distributed') return;
  // Put all tables in one colocation group, so that a tenant's rows are on one node.
  await client.query(
    `SELECT create_distributed_table($1, $2, colocate_with => coalesce((SELECT logicalrelid::text
      FROM pg_dist_partition WHERE partmethod = 'h' LIMIT 1), 'none'))`,
    [name, table === 'tenant' ? 'id' : 'tenant_id'],
  );
}

/**
 * Places all tables in one transaction, which verifies the layout. Then sets the lock timeout of the nodes, and removes
 * the coordinator's own copies of distributed rows.
 * @throws Error if {@link layoutFaults} finds any before the commit; then nothing has changed
 */
export async function layOut(client: Connection): Promise<void> {
  await client.query(`BEGIN; ${SCHEMA_CHANGES}`);
  await placeTables(client);
  const faults = await layoutFaults(client);
  if (faults.length > 0)
    throw new Error(
      `The layout was not changed. ${faults.join(' ')} Correct this on the coordinator, for example by update_distributed_table_colocation() or citus_move_shard_placement(), then run "scripts/ces citus layout" again.`,
    );
  await client.query('COMMIT');
  // Set the lock timeout on every node: the settings of a session on the coordinator do not reach the workers.
  await client.query(
    `SELECT run_command_on_all_nodes(format('ALTER DATABASE %I SET lock_timeout = %L', current_database(), '4s'))`,
  );
  await client.query(
    `SET audit.retention = on; SELECT truncate_local_data_after_distributing_table(logicalrelid)
      FROM pg_dist_partition WHERE partmethod = 'h' AND pg_relation_size(logicalrelid) > 0`,
  );
}

/** Tables not in their places, tables outside the largest colocation group, and shards apart from their range. */
export async function layoutFaults(client: Pick<Connection, 'query'>): Promise<string[]> {
  const misplaced = (await placesOf(client)).filter(({ isPlaced }) => !isPlaced);
  const { rows: groups } = await client.query<{ tables: string[] }>(
    `SELECT array_agg(logicalrelid::text ORDER BY logicalrelid::text) AS tables FROM pg_dist_partition
      WHERE partmethod = 'h' GROUP BY colocationid ORDER BY count(*) DESC OFFSET 1`,
  );
  const { rows: shards } = await client.query<{ range: string; tables: string[] }>(
    `WITH placed AS (SELECT colocationid, logicalrelid::text AS name, shardminvalue AS range, groupid
        FROM pg_dist_partition JOIN pg_dist_shard USING (logicalrelid) JOIN pg_dist_placement USING (shardid)
        WHERE partmethod = 'h'),
      homes AS (SELECT colocationid, range, mode() WITHIN GROUP (ORDER BY groupid) AS home FROM placed GROUP BY 1, 2)
      SELECT range, array_agg(name ORDER BY name) AS tables FROM placed JOIN homes USING (colocationid, range)
      WHERE groupid <> home GROUP BY range ORDER BY range`,
  );
  return [
    ...misplaced.map(({ table, place }) => `The table ${table} is not a ${place} table.`),
    ...groups.map(({ tables }) => `Not colocated with the other tables: ${tables.join(', ')}.`),
    ...shards.map(({ range, tables }) => `Shards from ${range} of ${tables.join(', ')} are not on their group's node.`),
  ];
}

/** Whether a table of the database has been distributed. */
export async function isLaidOut(client: Connection): Promise<boolean> {
  const { rowCount } = await client.query(`SELECT WHERE to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL`);
  if (rowCount === 0) return false;
  return (await client.query(`SELECT FROM pg_dist_partition WHERE partmethod = 'h' LIMIT 1`)).rowCount === 1;
}
