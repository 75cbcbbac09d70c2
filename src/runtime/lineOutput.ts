import { write, writeSync } from 'node:fs';

/** Maximum of characters that wait to be written; further lines are lost. */
const MAX_WAITING = 1024 ** 2;
/** Milliseconds to collect lines before a write, and to wait after a failed one. A pipe takes 64 KiB at a time. */
const PAUSE_MS = 10;
/** Maximum of failed writes at the end of the process: after these, about a second, it must end. */
const LAST_TRIES = 100;

/**
 * Writes lines without failing or, until the process ends, blocking. A full disk or a stopped reader delays lines;
 * those beyond a limit are lost. pino's own destination would throw and keep the process alive.
 * @param onLost called for each line beyond that limit
 */
export function openLineOutput(fd: number, onLost: () => void): { write(line: string): void } {
  let waiting = '';
  /** Bytes taken from `waiting` that are not yet written. */
  let begun: Uint8Array = Buffer.alloc(0);
  let state: 'idle' | 'writing' | 'pausing' = 'idle';

  const takeWaiting = (): void => {
    begun = Buffer.from(waiting);
    waiting = '';
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
    // Node still completes a running write, so do not write its bytes again.
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
      if (waiting.length + line.length > MAX_WAITING) return onLost();
      waiting += line;
      if (state !== 'idle') return;
      // A write costs more than a line, so collect some first. The exit listener writes the rest at the end.
      state = 'pausing';
      setTimeout(writeOn, PAUSE_MS).unref();
    },
  };
}
