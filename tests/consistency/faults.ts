import { setTimeout as delay } from 'node:timers/promises';
import type { Proxy } from '../support/proxy.js';
import type { RunOptions } from './run.js';
import { randomOf } from './random.js';
import type { World } from './world.js';

/** Answers between two faults, at least and at most: a slow machine must not see more of them. */
const ANSWERS = [40, 120] as const;

/** Breaks one thing after the other while clients work, by the seed. */
export function startFaults(world: World, { seed, withFaults }: Pick<RunOptions, 'seed' | 'withFaults'>) {
  const random = randomOf(seed, 'faults');
  /** Its own: how many chunks pass depends on time, and must not change which faults follow. */
  const chunks = randomOf(seed, 'chunks');
  const injected: Record<string, number> = {};
  const stopped = new AbortController();
  const { database, entrances, store, counters, cluster, receiving, history } = world;
  const pause = (ms: number): Promise<unknown> =>
    delay(ms, undefined, { signal: stopped.signal }).catch(() => undefined);
  /** Resets some of the connections at a random byte of a chunk. */
  const cutSome = (probability: number) => (chunk: Buffer) =>
    chunks.chance(probability) ? chunks.int(chunk.length) : null;
  const away = async (proxy: Proxy | undefined): Promise<void> => {
    await proxy?.cut();
    await pause(1_500);
    await proxy?.mend();
  };
  const kinds: Record<string, () => Promise<unknown>> = {
    'server killed': () => world.replace(random.int(entrances.length), 'SIGKILL'),
    'server terminated': () => world.replace(random.int(entrances.length), 'SIGTERM'),
    async 'PostgreSQL killed'() {
      await cluster.signal('SIGKILL');
      await pause(random.int(500));
      await cluster.restart();
    },
    async 'PostgreSQL hangs'() {
      await cluster.signal('SIGSTOP');
      await pause(random.int(1_500));
      await cluster.signal('SIGCONT');
    },
    async 'clients cut off'() {
      for (const entrance of entrances) entrance.watch(cutSome(0.05));
      await pause(1_500);
      for (const entrance of entrances) entrance.watch(null);
    },
    async 'database cut off'() {
      database.watch(cutSome(0.03));
      await pause(1_000);
      database.watch(null);
    },
    async 'cut at COMMIT'() {
      for (let cuts = 0; cuts < 5; cuts += 1) {
        // Our transactions send the text; PostgreSQL answers with its name.
        const [text, from] = random.pick([
          ['COMMIT\0', 'client'],
          ['COMMIT\0Z', 'server'],
        ] as const);
        database.watch((chunk, side) => {
          const at = side === from ? chunk.indexOf(text) : -1;
          if (at < 0) return null;
          database.watch(null);
          return Math.max(0, at - 5);
        });
        await pause(200);
      }
      database.watch(null);
    },
    async latency() {
      const slow = (ms: number): void => [database, ...entrances].forEach((proxy) => proxy.slow(ms));
      slow(10 + random.int(40));
      await pause(1_500);
      slow(0);
    },
    async 'disk full'() {
      await cluster.disk?.fill();
      await pause(1_500);
      await cluster.disk?.free();
      await cluster.restart();
    },
    'S3 away': () => away(store),
    'Redis away': () => away(counters),
    async 'receivers fail'() {
      receiving.status = 500;
      await pause(1_500);
      receiving.status = 204;
    },
  };
  const run = async (): Promise<void> => {
    const isOver = (): boolean => stopped.signal.aborted;
    while (withFaults && !isOver()) {
      const next = history.answers() + ANSWERS[0] + random.int(ANSWERS[1] - ANSWERS[0]);
      while (history.answers() < next && !isOver()) await pause(50);
      if (isOver()) return;
      const kind = random.pick(Object.keys(kinds));
      injected[kind] = (injected[kind] ?? 0) + 1;
      await kinds[kind]?.();
    }
  };
  // Without their programs or rights these cannot fail.
  if (!cluster.disk) delete kinds['disk full'];
  if (!store) delete kinds['S3 away'];
  if (!counters) delete kinds['Redis away'];
  const running = run();
  return {
    /** Resolves when everything works again. @returns how often each fault was injected */
    async stop(): Promise<Record<string, number>> {
      stopped.abort();
      await running;
      return injected;
    },
  };
}
