import { copyFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/packageRoot.js';
import { audit, type Case } from './auditor.js';
import type { Cluster } from './cluster.js';
import { collect } from './collect.js';
import { startFaults } from './faults.js';
import { runLoad, subscribe, type LoadOptions } from './load.js';
import { resetOnlyItself } from './reset.js';
import { openWorld } from './world.js';

export interface RunOptions extends LoadOptions {
  readonly withFaults: boolean;
  readonly servers: 1 | 2;
  /** The copy of the repository whose build runs; default: this one. */
  readonly root?: URL;
}

/** The result of a seed. */
export interface Run {
  readonly seed: number;
  readonly requests: number;
  /** Requests whose response was lost, or that had to be sent again. */
  readonly unknown: number;
  /** How often each kind of fault was injected. */
  readonly faults: Readonly<Record<string, number>>;
  readonly anomalies: readonly string[];
  /** Its history, which is kept if there are anomalies. */
  readonly file: string;
  readonly seconds: number;
  readonly auditSeconds: number;
}

/** Plays one seed on a new database, and judges it. */
export async function runSeed(cluster: Cluster, options: RunOptions): Promise<Run> {
  const begun = Date.now();
  const playing = join(cluster.histories, `seed-${options.seed}.ndjson`);
  const file = join(tmpdir(), `ces-consistency-${options.seed}-${begun}.ndjson`);
  const world = await openWorld(cluster, {
    root: options.root ?? packageRoot,
    historyFile: playing,
    servers: options.servers,
  });
  let isKept = true;
  try {
    await subscribe(world);
    const faults = startFaults(world, options);
    const load = runLoad(world, options);
    // Also when the load fails: nothing may be injected into a world that is closed.
    const injected = await load.then(faults.stop, faults.stop);
    const scenes = await load;
    const cases: Case[] = [];
    const unread: string[] = [];
    for (const scene of scenes) {
      const collected = await collect(world, scene).catch((error: unknown) => String(error));
      if (typeof collected === 'string') unread.push(collected);
      else cases.push(collected);
    }
    const { fault } = await world.verifyAudit();
    const judged = Date.now();
    const found = audit(cases);
    const auditSeconds = (Date.now() - judged) / 1_000;
    const anomalies = [
      ...unread,
      ...found,
      ...(await resetOnlyItself(world, scenes)),
      ...(fault ? [`the audit's chain of hashes: ${JSON.stringify(fault)}`] : []),
    ];
    isKept = anomalies.length > 0;
    const attempts = world.history.intents.flatMap((intent) => intent.attempts);
    return {
      ...{ seed: options.seed, requests: attempts.length, faults: injected, anomalies, file },
      unknown: attempts.filter(({ status }) => status === null || status >= 500).length,
      seconds: (Date.now() - begun) / 1_000,
      auditSeconds,
    };
  } finally {
    await world.history.close();
    await world.close();
    if (isKept) await copyFile(playing, file);
    await rm(playing);
  }
}
