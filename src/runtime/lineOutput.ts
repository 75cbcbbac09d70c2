import { write, writeSync } from 'node:fs';

/** Characters that wait while nothing can be written; a further line is lost. */
const MAX_WAITING = 1024 ** 2;
/** Milliseconds between attempts after one that failed. A pipe takes 64 KiB at a time, so this limits its throughput. */
const RETRY_MS = 10;
/** Failed attempts at the end of the process, which must end: after a second. */
const LAST_TRIES = 100;

/** Who learns of lines that were lost. */
interface Losses {
  /** A line was lost just now. */
  lost(): void;
  /** Writing works again; so many lines are missing at this place. */
  recovered(lines: number): void;
}

/**
 * Writes lines without blocking and without failing. A full disk or a reader that has stopped delays lines, and beyond
 * a bounded amount loses them; the process goes on and can end. pino's own destination throws, and never lets it end.
 */
export function openLineOutput(fd: number, losses: Losses): { write(line: string): void } {
  let waiting = '';
  /** Taken from `waiting` and not written yet. */
  let begun: Uint8Array = Buffer.alloc(0);
  let state: 'idle' | 'writing' | 'retrying' = 'idle';
  let lost = 0;

  const takeWaiting = (): void => {
    begun = Buffer.from(waiting);
    waiting = '';
    const lines = lost;
    lost = 0;
    if (lines > 0) losses.recovered(lines);
  };
  const writeOn = (): void => {
    if (begun.length === 0) takeWaiting();
    state = begun.length === 0 ? 'idle' : 'writing';
    if (state === 'idle') return;
    write(fd, begun, (error, written) => {
      if (!error) {
        begun = begun.subarray(written);
        return writeOn();
      }
      state = 'retrying';
      setTimeout(writeOn, RETRY_MS).unref();
    });
  };
  process.once('exit', () => {
    // Node itself completes a write that is under way.
    if (state === 'writing') begun = Buffer.alloc(0);
    state = 'retrying';
    for (let failed = 0; failed < LAST_TRIES;) {
      if (begun.length === 0) takeWaiting();
      if (begun.length === 0) return;
      try {
        begun = begun.subarray(writeSync(fd, begun));
      } catch {
        failed += 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  });
  return {
    write(line) {
      if (waiting.length + line.length > MAX_WAITING) {
        lost += 1;
        return losses.lost();
      }
      waiting += line;
      if (state !== 'idle') return;
      // What is logged in one turn of the event loop is one write, and in order also at the end of the process.
      state = 'retrying';
      setImmediate(writeOn);
    },
  };
}
