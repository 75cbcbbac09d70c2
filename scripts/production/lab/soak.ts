import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { systemContext } from '../../../src/runtime/systemContext.js';
import { live, openScene, reads, steps } from '../../bench/life.js';
import type { Lab } from './parts.js';

/** The name of the scenario. */
export const SOAK = 'soak';
/** Minutes until a server's memory counts, because it grows while it warms up. */
const WARM_UP = 10;
/** Milliseconds between the starts of two encounters. */
const LIFE_MS = 2_000;

interface Sample {
  readonly minute: number;
  /** Memory of each server in MiB. */
  readonly memory: readonly number[];
  readonly connections: number;
  readonly slots: number;
  /** Dead rows: `dead` of all tables, and `most` names the table with the most. */
  readonly dead: number;
  readonly most: string;
}

/**
 * Sends whole encounters, from the patient to delivery, in addition to the lab's load. Prints a sample each minute,
 * then the trend of each server's memory.
 */
export async function soak(lab: Lab, minutes: number, print: (text: string) => unknown): Promise<void> {
  const scene = await openScene(lab.baseUrl, systemContext(lab.db), lab.fileUrl);
  const failures: string[] = [];
  const all = { ...steps, ...reads };
  const timer = setInterval(
    () => void live(scene, all).catch((error: unknown) => failures.push(String(error))),
    LIFE_MS,
  );
  const samples: Sample[] = [];
  for (let minute = 0; minute <= minutes; minute += 1) {
    if (minute > 0) await delay(60_000);
    const sample = await sampleOf(lab, minute);
    samples.push(sample);
    print(JSON.stringify(sample));
  }
  clearInterval(timer);
  lab.servers.forEach((_server, index) => {
    const points = samples
      .filter(({ minute }) => minute >= WARM_UP)
      .map(({ minute, memory }) => [minute, memory[index] ?? NaN] as const);
    print(`memory of server ${index + 1} after minute ${WARM_UP}: ${(slopeOf(points) * 60).toFixed(1)} MiB per hour`);
  });
  print(`encounters that failed: ${failures.length} ${failures[0] ?? ''}`);
}

async function sampleOf({ servers, db }: Lab, minute: number): Promise<Sample> {
  const memory = await Promise.all(
    servers.map(async (server) => {
      const status = await readFile(`/proc/${server.pid()}/status`, 'utf8');
      return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024);
    }),
  );
  const [row] = await db.everyTenant.rows<Omit<Sample, 'minute' | 'memory'>>`
    SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
      (SELECT count(*)::int FROM pg_replication_slots) AS slots, sum(n_dead_tup)::int AS dead,
      (array_agg(relname || ' ' || n_dead_tup ORDER BY n_dead_tup DESC))[1] AS most FROM pg_stat_user_tables`;
  if (!row) throw new Error('PostgreSQL has no statistics.');
  return { minute, memory, ...row };
}

/** The slope of the line that fits the points best, by least squares. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([at]) => at)), mean(points.map(([, value]) => value))];
  const above = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0);
  return above / points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
}
