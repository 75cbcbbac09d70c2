import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Logger } from 'pino';

/** What takes requests, in this process or in others. */
export interface Listener {
  readonly port: number;
  /** Takes no more, and resolves when those in flight have their responses. */
  stop(): Promise<void>;
}

/** Milliseconds before another worker takes the place of one that died. */
const RESTART_MS = 1_000;

/**
 * Runs this program again in so many processes that listen together; connections are dealt out in turn.
 * @param environment what they have besides this process's variables
 * @throws Error when one of the first ends before it listens; what it said is on standard error
 */
export async function startWorkers(
  count: number,
  environment: Readonly<Record<string, string>>,
  log: Logger,
): Promise<Listener> {
  const running = new Set<Worker>();
  let stopping = false;
  const fork = (): Worker => {
    const worker = cluster.fork(environment);
    running.add(worker);
    worker.once('exit', (code: number | null, signal: string | null) => {
      running.delete(worker);
      if (stopping) return;
      log.error({ code, signal }, 'a worker died; another one takes its place');
      setTimeout(() => stopping || fork(), RESTART_MS);
    });
    return worker;
  };
  const stop = async (): Promise<void> => {
    stopping = true;
    const exits = [...running].map((worker) => once(worker, 'exit'));
    for (const worker of running) worker.process.kill('SIGTERM');
    await Promise.all(exits);
  };
  try {
    const [port = 0] = await Promise.all(Array.from({ length: count }, () => listening(fork())));
    return { port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function listening(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port));
    worker.once('exit', () => reject(new Error('A worker ended before it listened.')));
  });
}
