import { readFile, readdir } from 'node:fs/promises';
import type { Database } from '../../src/adapters/database/database.js';
import { rowsOf } from '../../tests/support/migrations.js';
import type { MeasuredServer } from './server.js';

/** CPU time of the server and of PostgreSQL in milliseconds, WAL in bytes, and writes to the disk. */
export type Costs = Readonly<Record<'serverMs' | 'databaseMs' | 'walBytes' | 'writes', number>>;

/** The costs so far. @param postmaster the process of PostgreSQL */
export async function costsOf(service: MeasuredServer, { everyTenant }: Database, postmaster: string): Promise<Costs> {
  const [row = { walBytes: NaN, writes: NaN }] = await everyTenant.rows<Pick<Costs, 'walBytes' | 'writes'>>`
    SELECT (pg_current_wal_lsn() - '0/0')::float8 AS "walBytes",
      (SELECT sum(CASE object WHEN 'wal' THEN fsyncs ELSE writes END) FROM pg_stat_io)::float8 AS writes`;
  return { serverMs: (await service.usage()).cpuMicros / 1_000, databaseMs: await cpuOf(postmaster), ...row };
}

/** Milliseconds of CPU of all processes of PostgreSQL; the postmaster has the times of those that ended. */
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

/** Combines each member of two costs. */
export const combined = (one: Costs, other: Costs, change: (one: number, other: number) => number): Costs => ({
  serverMs: change(one.serverMs, other.serverMs),
  databaseMs: change(one.databaseMs, other.databaseMs),
  walBytes: change(one.walBytes, other.walBytes),
  writes: change(one.writes, other.writes),
});

/** Rows and bytes of a table. */
export interface Size {
  readonly name: string;
  readonly rows: number;
  readonly table: number;
  readonly indexes: number;
}

/** The size of every table after a vacuum, which frees pages at its end. */
export async function sizesOf({ everyTenant }: Database, url: string): Promise<Size[]> {
  // Not with the service's timeout.
  await rowsOf(url, 'VACUUM (ANALYZE)');
  return everyTenant.rows<Size>`
    SELECT relname AS name, greatest(reltuples, 0)::float8 AS rows, pg_table_size(oid)::float8 AS table,
      pg_indexes_size(oid)::float8 AS indexes
    FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`;
}
