import { write, writeSync } from 'node:fs';

/** Limit of the characters that wait while writing fails; further lines are lost. */
const MAX_WAITING = 1024 ** 2;
/** Milliseconds that lines collect before a write, and between failed ones. A pipe takes 64 KiB at a time. */
const PAUSE_MS = 10;
/** Failed attempts at the end of the process: one second, because it must end. */
const LAST_TRIES = 100;

interface Losses {
  lost(): void;
  /** Called when writing works again, with the number of lines missing here. */
  recovered(lines: number): void;
}

/**
 * Writes lines without blocking or failing. A full disk or a stopped reader delays lines, and loses them beyond a
 * bounded amount, but the process continues and can end. pino's own destination throws, and keeps the process alive.
 */
export function openLineOutput(fd: number, losses: Losses): { write(line: string): void } {
  let waiting = '';
  /** Taken from `waiting`, but not yet written. */
  let begun: Uint8Array = Buffer.alloc(0);
  let state: 'idle' | 'writing' | 'pausing' = 'idle';
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
      state = 'pausing';
      setTimeout(writeOn, PAUSE_MS).unref();
    });
  };
  process.once('exit', () => {
    // Node completes a running write.
    if (state === 'writing') begun = Buffer.alloc(0);
    state = 'pausing';
    for (let failed = 0; failed < LAST_TRIES;) {
      if (begun.length === 0) takeWaiting();
      if (begun.length === 0) return;
      try {
        begun = begun.subarray(writeSync(fd, begun));
      } catch {
        failed += 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
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
      // A write is work for another thread, and costs more than a line: collect some. The end of the process writes the rest.
      state = 'pausing';
      setTimeout(writeOn, PAUSE_MS).unref();
    },
  };
}
