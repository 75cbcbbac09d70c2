import { readFile, readdir } from 'node:fs/promises';
import type { Database } from '../../src/adapters/database/database.js';
import { rowsOf } from '../../tests/support/migrations.js';
import type { MeasuredServer } from './server.js';

/** CPU time of the server and of PostgreSQL in milliseconds, bytes of WAL, and number of writes to the disk. */
export type Costs = Readonly<Record<'serverMs' | 'databaseMs' | 'walBytes' | 'writes', number>>;

/** The costs since the start. @param postmaster the id of PostgreSQL's main process */
export async function costsOf(service: MeasuredServer, { everyTenant }: Database, postmaster: string): Promise<Costs> {
  const [row = { walBytes: NaN, writes: NaN }] = await everyTenant.rows<Pick<Costs, 'walBytes' | 'writes'>>`
    SELECT (pg_current_wal_lsn() - '0/0')::float8 AS "walBytes",
      (SELECT sum(CASE object WHEN 'wal' THEN fsyncs ELSE writes END) FROM pg_stat_io)::float8 AS writes`;
  return { serverMs: (await service.usage()).cpuMicros / 1_000, databaseMs: await cpuOf(postmaster), ...row };
}

/** CPU time of all PostgreSQL's processes in milliseconds; that of ended ones is added to the main process. */
async function cpuOf(postmaster: string): Promise<number> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const ticks = processes.map(async (process) => {
    const stat = await readFile(`/proc/${process}/stat`, 'utf8').catch(() => '');
    const [parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 4).split(' ');
    if (parent !== postmaster && process !== postmaster) return 0;
    return rest.slice(9, process === postmaster ? 13 : 11).reduce((sum, time) => sum + Number(time), 0);
  });
  return (await Promise.all(ticks)).reduce((sum, time) => sum + time, 0) * 10;
}

/** Combines two costs member by member. */
export const combined = (one: Costs, other: Costs, change: (one: number, other: number) => number): Costs => ({
  serverMs: change(one.serverMs, other.serverMs),
  databaseMs: change(one.databaseMs, other.databaseMs),
  walBytes: change(one.walBytes, other.walBytes),
  writes: change(one.writes, other.writes),
});

/** Rows and bytes of a table and its indexes. */
export interface Size {
  readonly name: string;
  readonly rows: number;
  readonly table: number;
  readonly indexes: number;
}

/** The size of every table after a vacuum, which returns free pages at a table's end. */
export async function sizesOf({ everyTenant }: Database, url: string): Promise<Size[]> {
  // Use a separate connection, because a vacuum exceeds the service's statement timeout.
  await rowsOf(url, 'VACUUM (ANALYZE)');
  return everyTenant.rows<Size>`
    SELECT relname AS name, greatest(reltuples, 0)::float8 AS rows, pg_table_size(oid)::float8 AS table,
      pg_indexes_size(oid)::float8 AS indexes
    FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`;
}
