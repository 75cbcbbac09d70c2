import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** What takes requests, in this process or in others. */
export interface Listener {
  readonly port: number;
  /** Resolves when it cannot go on, and must be stopped. */
  readonly failed: Promise<Error>;
  /** Takes no more, and resolves when those in flight have their responses. */
  stop(): Promise<void>;
}

/** How workers are watched. */
export interface Watch {
  /** Milliseconds between two signs of life of a worker. */
  readonly beatMs: number;
  /** A worker that has listened and then misses so many is blocked, and ended. */
  readonly maxSilentBeats: number;
  /** Milliseconds before each attempt to start a worker in another one's place; there are no more attempts. */
  readonly pausesMs: readonly number[];
}

/** Five attempts in about a minute, which a restart of PostgreSQL does not take. */
const WATCH: Watch = { beatMs: 1_000, maxSilentBeats: 10, pausesMs: [1_000, 2_000, 5_000, 10_000, 20_000] };
/** Milliseconds of listening after which the end of a worker has nothing to do with the one before. */
const SETTLED_MS = 60_000;

/**
 * Runs this program again in so many processes that listen together; connections are dealt out in turn. One that dies or
 * is blocked is replaced.
 * @param environment what they have besides this process's variables
 * @throws Error when one of the first ends before it listens; what it said is on standard error
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
        throw new Error(`A worker did not start in ${failedStarts} attempts; each said why on standard error.`);
      }
      log.error(end, 'a worker died; another one takes its place');
      if ((run.listenedMs ?? 0) > SETTLED_MS) ends = 0;
      await delay(watch.pausesMs[ends] ?? watch.pausesMs.at(-1), undefined, halt).catch(() => undefined);
      if (isStopping()) return;
      ends += 1;
    }
  };
  const stop = async (): Promise<void> => {
    halt.abort();
    // One that does not listen yet has nothing to complete.
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

/** A worker from its start to its end. */
interface Run {
  readonly worker: Worker;
  /** null: it does not listen yet, or never did. */
  listenedMs: number | null;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Ends a worker that listens and is blocked. */
function watchWorker(worker: Worker, { beatMs, maxSilentBeats }: Watch, log: Logger): Run {
  let silentBeats = 0;
  let beating: NodeJS.Timeout | undefined;
  // Beats are counted, not timed: when this process was stopped, too, its workers have not been silent.
  const beat = (): void => {
    run.listenedMs = (run.listenedMs ?? 0) + beatMs;
    silentBeats += 1;
    if (silentBeats !== maxSilentBeats) return;
    log.error({ pid: worker.process.pid, silentMs: silentBeats * beatMs }, 'a worker did not answer and is ended');
    // No other signal ends a process that is stopped.
    worker.process.kill('SIGKILL');
  };
  worker.on('message', () => (silentBeats = 0));
  worker.once('listening', () => {
    run.listenedMs = 0;
    beating = setInterval(beat, beatMs);
  });
  // Of its channel, or because the system has no room for another process, which has no exit then.
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

/** Lets the first process know that this worker's event loop turns. To be called when it listens. */
export function sendHeartbeats(beatMs = WATCH.beatMs): void {
  // A channel that is closed is the end of the first process, and so of this one.
  setInterval(() => process.send?.('alive', undefined, undefined, () => undefined), beatMs).unref();
}

function portOf(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port));
    worker.once('exit', () => reject(new Error('A worker ended before it listened.')));
  });
}
