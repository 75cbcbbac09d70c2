import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openCluster, type EmbeddedPostgres, type EmbeddedPostgresOptions } from './embeddedPostgres.js';
import {
  clusterOf,
  initialiseData,
  majorOfData,
  majorOfPrograms,
  programsOf,
  type Cluster,
} from './postgresCluster.js';
import { findPostgres, stopPostgres } from './postgresProcess.js';

interface Upgrade extends Pick<EmbeddedPostgresOptions, 'dataDir' | 'log'> {
  /** A folder whose node_modules has PostgreSQL of the old data's major version. */
  readonly from: string;
  /** Copies all content. @param file path for rows that both servers may read and write @returns the number of rows */
  fill(previous: EmbeddedPostgres, next: EmbeddedPostgres, file: string): Promise<number>;
}

/** Longer than the sessions of a killed upgrade need to end, in milliseconds. */
const OWNER_TIMEOUT_MS = 2_000;

/**
 * Moves the data of DATA_DIR to a new cluster of this build's major version, and keeps the old data beside it. An
 * interrupted upgrade starts over when repeated, unless the old data was already renamed: then only the renaming is
 * completed.
 * @returns the major versions; null for parts that an interrupted call has done
 * @throws Error while another process uses the data
 */
export async function upgradeCluster({ dataDir, from, log, fill }: Upgrade) {
  if (!existsSync(join(dataDir, 'postgres'))) throw new Error(`DATA_DIR ${dataDir} has no embedded PostgreSQL.`);
  const next = await clusterOf(dataDir, 'data.new');
  const current = await clusterOf(dataDir);
  const [major, installed] = [await majorOfData(current.pgdata), await majorOfPrograms(current.programs)];
  if (major === installed)
    throw new Error(`The data are already of PostgreSQL ${installed}: there is nothing to upgrade.`);
  let kept: string | null = null;
  let rows: number | null = null;
  if (major !== undefined) {
    const previous = await clusterOf(dataDir, 'data', programsOf(from));
    const found = await majorOfPrograms(previous.programs);
    if (found !== major)
      throw new Error(
        `The data are of PostgreSQL ${major}, but ${from} has PostgreSQL ${found}. Name a build that has PostgreSQL ${major}.`,
      );
    rows = await fillNext(previous, next, { dataDir, log, fill });
    kept = `${current.pgdata}.${major}`;
    await rename(current.pgdata, kept);
  }
  await rename(next.pgdata, current.pgdata);
  return { from: major ?? null, to: installed, kept, rows };
}

async function fillNext(previous: Cluster, next: Cluster, { dataDir, log, fill }: Omit<Upgrade, 'from'>) {
  const options = { dataDir, role: 'upgrade', log, timeoutMs: OWNER_TIMEOUT_MS } as const;
  const source = await openCluster(previous, options);
  try {
    await removeAbandoned(next);
    await initialiseData(next);
    const target = await openCluster(next, options);
    try {
      return await fill(source, target, join(next.pgdata, 'rows.txt'));
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Removes the new cluster of a killed upgrade, after stopping its PostgreSQL if that still runs. */
async function removeAbandoned(next: Cluster): Promise<void> {
  for (let found = await findPostgres(next); found; found = await findPostgres(next)) {
    if (found === 'busy') await delay(20);
    else await stopPostgres(next, found, 'fast', async () => undefined);
  }
  await rm(next.pgdata, { recursive: true, force: true });
}
