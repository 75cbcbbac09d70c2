import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import process from 'node:process';
import { setInterval } from 'node:timers/promises';
import { URL, fileURLToPath } from 'node:url';

/** A file is stuck if its processes use less than 3 % of a processor for three minutes; a test of this runner waits less. */
const QUIET_MS = Number(process.env['TEST_QUIET_MS'] ?? 180_000);
/** In hundredths of a second. */
const QUIET_TICKS = (QUIET_MS / 1_000) * 3;
const CHECK_MS = QUIET_MS / 36;
/** Ends a file with an endless loop, which uses CPU. Without /proc, it is the only limit. */
const LIMIT_MS = 3_600_000;

const isSystem = ({ path }) => path.includes('/tests/system/');

/**
 * Runs test files in processes of plain Node, which load the service once, not once per file. A file that is stuck or
 * ends its process fails, and a new process runs the next file.
 */
export default class Runner {
  constructor(globalConfig) {
    this.globalConfig = globalConfig;
  }

  async runTests(tests, _watcher, onStart, onResult, onFailure) {
    // Half of the workers begin with the slowest files, the others with the fastest, so that failures show early. Jest
    // sorts by the last duration, which a fresh clone does not know: files that start processes are slow.
    const waiting = [...tests].sort((one, other) => isSystem(other) - isSystem(one));
    const workers = Array.from({ length: this.globalConfig.maxWorkers }, async (_, index) => {
      let worker;
      for (;;) {
        const test = index % 2 === 0 ? waiting.shift() : waiting.pop();
        if (!test) break;
        await onStart(test);
        worker ??= new Worker({ globalConfig: this.globalConfig, projectConfig: test.context.config });
        try {
          await onResult(test, await worker.run(test.path));
        } catch ({ message, stack }) {
          worker.end();
          worker = undefined;
          await onFailure(test, { message, stack });
        }
      }
      worker?.end();
    });
    await Promise.all(workers);
  }
}

/** A process that leads a group, so that it ends with everything that its tests have started. */
class Worker {
  constructor(workerData) {
    this.process = fork(fileURLToPath(new URL('worker.js', import.meta.url)), { detached: true });
    this.process.send({ workerData });
  }

  /** @throws Error if the file cannot be loaded, is stuck or ends the process */
  async run(path) {
    const over = new AbortController();
    const { signal } = over;
    this.process.send({ path });
    try {
      return await Promise.race([this.#result(signal), this.#end(signal), this.#limit(signal)]);
    } finally {
      over.abort();
    }
  }

  end() {
    try {
      process.kill(-Number(this.process.pid), 'SIGKILL');
    } catch {
      // It has ended.
    }
  }

  async #result(signal) {
    const [{ result, error }] = await once(this.process, 'message', { signal });
    if (error) throw error;
    return result;
  }

  async #end(signal) {
    const [code, name] = await once(this.process, 'exit', { signal });
    throw new Error(`The test file ended its process (${name ?? code}): look for process.exit or too little memory.`);
  }

  async #limit(signal) {
    const begun = Date.now();
    let busy = { at: begun, ticks: this.#ticks() };
    for await (const _ of setInterval(CHECK_MS, undefined, { signal })) {
      const now = { at: Date.now(), ticks: this.#ticks() };
      if (now.ticks >= busy.ticks + QUIET_TICKS) busy = now;
      if (now.at >= busy.at + QUIET_MS)
        throw new Error(`The test file used almost no CPU for ${QUIET_MS / 1_000} seconds: find what it waits for.`);
      if (now.at >= begun + LIMIT_MS)
        throw new Error(
          `The test file ran for more than ${LIMIT_MS / 60_000} minutes: split it, or find its endless loop.`,
        );
    }
  }

  /** CPU time of the group, in hundredths of a second. */
  #ticks() {
    // Without /proc, count the file as busy.
    if (process.platform !== 'linux') return Date.now();
    let ticks = 0;
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
        const [group, times] = [fields[2], fields.slice(11, 15)];
        if (Number(group) === this.process.pid) ticks += times.reduce((sum, each) => sum + Number(each), 0);
      } catch {
        // The process has ended.
      }
    }
    return ticks;
  }
}
