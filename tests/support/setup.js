import { stat } from 'node:fs';
import process from 'node:process';
import { setInterval } from 'node:timers';

// The runner's options are for the workers, not for the programs that tests start.
delete process.env.NODE_OPTIONS;

// The C library of Debian 12 loses a wake-up of Node's thread pool in rare cases (glibc bug 25847): what waits there goes on
// with the next work, which in a test may never come.
setInterval(() => stat('.', () => {}), 1_000).unref();
