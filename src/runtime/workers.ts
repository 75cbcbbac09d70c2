import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** A server for requests, in this process or in workers. */
export interface Listener {
  readonly port: number;
  /** Resolves if the server can no longer run and must be stopped. */
  readonly failed: Promise<Error>;
  /** Accepts no more requests, and resolves when all requests in progress have been answered. */
  stop(): Promise<void>;
}

export interface Watch {
  readonly beatMs: number;
  /** Missed heartbeats after which a worker counts as blocked, and is killed. */
  readonly maxSilentBeats: number;
  /** Milliseconds before each attempt to replace a worker; as many failed starts in a row are an error. */
  readonly pausesMs: readonly number[];
}

/** Five attempts in about a minute: longer than a restart of PostgreSQL. */
const WATCH: Watch = { beatMs: 1_000, maxSilentBeats: 10, pausesMs: [1_000, 2_000, 5_000, 10_000, 20_000] };
/** Milliseconds: the end of a worker that listened longer starts the pauses again from the first one. */
const SETTLED_MS = 60_000;

/**
 * Runs `count` processes that share a port, and replaces dead or blocked ones. @param environment additional variables
 * @throws Error if a first worker ends before it listens; its reason is on standard error
 */
export async function startWorkers(
  count: number,
  environment: Readonly<Record<string, string>>,
  log: Logger,
  watch = WATCH,
): Promise<Listener> {
  const running = new Set<Run>();
  const halt = new AbortController();
  const fork = (): Run => {
    const run = watchWorker(cluster.fork(environment), watch, log);
    running.add(run);
    void run.ended.then(() => running.delete(run));
    return run;
  };
  const isStopping = (): boolean => halt.signal.aborted;
  const keepReplacing = async (first: Run): Promise<void> => {
    let [ends, failedStarts] = [0, 0];
    for (let run = first; ; run = fork()) {
      const end = await run.ended;
      if (isStopping()) return;
      failedStarts = run.listenedMs === null ? failedStarts + 1 : 0;
      if (failedStarts === watch.pausesMs.length) {
        throw new Error(`A worker did not start in ${failedStarts} attempts. See its messages on standard error.`);
      }
      log.error(end, 'a worker died and is replaced');
      if ((run.listenedMs ?? 0) > SETTLED_MS) ends = 0;
      await delay(watch.pausesMs[ends] ?? watch.pausesMs.at(-1), undefined, halt).catch(() => undefined);
      if (isStopping()) return;
      ends += 1;
    }
  };
  const stop = async (): Promise<void> => {
    halt.abort();
    // A worker that does not listen yet has no requests to complete.
    for (const { worker, listenedMs } of running) worker.process.kill(listenedMs === null ? 'SIGKILL' : 'SIGTERM');
    await Promise.all([...running].map(({ ended }) => ended));
  };
  const first = Array.from({ length: count }, fork);
  const failed = new Promise<Error>((resolve) => first.forEach((run) => void keepReplacing(run).catch(resolve)));
  try {
    const [port = 0] = await Promise.all(first.map(({ worker }) => portOf(worker)));
    return { port, failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Run {
  readonly worker: Worker;
  /** Milliseconds for which the worker has been listening; null before that. */
  listenedMs: number | null;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Kills a listening worker when it is blocked. */
function watchWorker(worker: Worker, { beatMs, maxSilentBeats }: Watch, log: Logger): Run {
  let silentBeats = 0;
  let beating: NodeJS.Timeout | undefined;
  // Count beats instead of time: if this process was suspended, its workers were not silent.
  const beat = (): void => {
    run.listenedMs = (run.listenedMs ?? 0) + beatMs;
    silentBeats += 1;
    if (silentBeats !== maxSilentBeats) return;
    log.error({ pid: worker.process.pid, silentMs: silentBeats * beatMs }, 'a blocked worker is killed');
    // SIGKILL is the only signal that ends a stopped process.
    worker.process.kill('SIGKILL');
  };
  worker.on('message', () => (silentBeats = 0));
  worker.once('listening', () => {
    run.listenedMs = 0;
    beating = setInterval(beat, beatMs);
  });
  // The channel to the worker failed, or the system could not create its process, which then has no exit event.
  worker.on('error', () => worker.process.kill('SIGKILL'));
  const end = async (): Promise<{ code: number | null; signal: string | null }> => {
    const exit = once(worker, 'exit') as Promise<[code?: number, signal?: string]>;
    const [code = null, signal = null] = await exit.catch((): [] => []);
    clearInterval(beating);
    return { code, signal };
  };
  const run: Run = { worker, listenedMs: null, ended: end() };
  return run;
}

/** Tells the first process that this worker's event loop runs. Call it when listening. */
export function sendHeartbeats(beatMs = WATCH.beatMs): void {
  // Ignore a closed channel: it means that the first process has ended, which also ends this one.
  setInterval(() => process.send?.('alive', undefined, undefined, () => undefined), beatMs).unref();
}

function portOf(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port));
    worker.once('exit', () => reject(new Error('A worker ended before it listened.')));
  });
}
