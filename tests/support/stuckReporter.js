import process from 'node:process';
import { clearTimeout, setTimeout } from 'node:timers';

const { FAULTS, LIVES } = process.env;
/** Far longer than any file takes, even on a busy machine; `make faults` and `make long-tests` use full sizes. */
const LIMIT_MS = (FAULTS === 'full' || LIVES ? 120 : 4) * 60_000;

/** Ends a run in which a file hangs, and names the file, because the runner has no time limit. */
export default class StuckReporter {
  timers = new Map();

  onTestFileStart({ path }) {
    const end = () => {
      process.stderr.write(`\n${path} is stuck: it has taken more than ${LIMIT_MS / 60_000} minutes.\n`);
      process.exit(1);
    };
    this.timers.set(path, setTimeout(end, LIMIT_MS).unref());
  }

  onTestFileResult({ path }) {
    clearTimeout(this.timers.get(path));
  }
}
