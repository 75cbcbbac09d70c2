import process from 'node:process';
import { clearTimeout, setTimeout } from 'node:timers';

/** Far beyond what any file takes, on a busy machine too; `make faults` takes full sizes. */
const LIMIT_MS = (process.env.FAULTS === 'full' ? 120 : 10) * 60_000;

/** Ends a run in which a file hangs, and names the file: the runner knows no time limits. */
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
