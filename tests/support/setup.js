import { stat } from 'node:fs';
import process from 'node:process';
import { setInterval } from 'node:timers';

// These options are for the workers of the runner, not for programs that tests start.
delete process.env.NODE_OPTIONS;

// Debian 12's C library sometimes loses a wake-up of Node's thread pool (glibc bug 25847). Waiting work resumes with the
// next work, which a test may never bring.
setInterval(() => stat('.', () => {}), 1_000).unref();
