import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { audit, type Case } from './auditor.js';
import type { Cluster } from './cluster.js';
import { collect } from './collect.js';
import { runLoad, subscribe, type LoadOptions } from './load.js';
import { resetOnlyItself } from './reset.js';
import { openWorld, type World, type WorldOptions } from './world.js';

/** The result of a play. */
export interface Play<T> {
  readonly requests: number;
  /** Requests without a response, or with a 5xx. */
  readonly unknown: number;
  readonly anomalies: readonly string[];
  /** The file of its history, which is kept if there are anomalies. */
  readonly file: string;
  readonly seconds: number;
  /** The result of `breakIt`. */
  readonly broken: T;
}

/**
 * Plays the load on a new database while `breakIt` breaks things, and judges the history. Load and faults end when one of
 * them has ended.
 */
export async function play<T>(
  cluster: Cluster,
  options: LoadOptions & WorldOptions,
  breakIt: (world: World, over: AbortSignal) => Promise<T>,
): Promise<Play<T>> {
  const begun = Date.now();
  const file = join(tmpdir(), `ces-lab-${options.seed}-${begun}.ndjson`);
  const world = await openWorld(cluster, options);
  let isKept = true;
  try {
    await subscribe(world);
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const both = [breakIt(world, ended.signal), runLoad(world, options, ended.signal)] as const;
    // Wait for both even if one fails: no fault may begin in a world that is closed.
    await Promise.allSettled(both.map((each) => each.finally(end)));
    const [broken, scenes] = await Promise.all(both);
    const cases: Case[] = [];
    const unread: string[] = [];
    for (const scene of scenes) {
      const collected = await collect(world, scene).catch((error: unknown) => String(error));
      if (typeof collected === 'string') unread.push(collected);
      else cases.push(collected);
    }
    const { fault } = await world.verifyAudit();
    const anomalies = [
      ...world.crashes,
      ...unread,
      ...audit(cases),
      ...(await resetOnlyItself(world, scenes)),
      ...(fault ? [`the audit's chain of hashes: ${JSON.stringify(fault)}`] : []),
    ];
    isKept = anomalies.length > 0;
    const attempts = world.history.intents.flatMap((intent) => intent.attempts);
    return {
      ...{ requests: attempts.length, anomalies, file, broken },
      unknown: attempts.filter(({ status }) => status === null || status >= 500).length,
      seconds: (Date.now() - begun) / 1_000,
    };
  } finally {
    await world.close();
    if (isKept) await copyFile(world.history.file, file);
  }
}
