import { stat } from 'node:fs';
import process from 'node:process';
import { setInterval } from 'node:timers';
// By its path: the package exports only a pool, which ends with the first process that ends.
import run, { setWorkerData } from '../../node_modules/jest-light-runner/src/worker-runner.js';

// Debian 12's C library sometimes loses a wake-up of Node's thread pool (glibc bug 25847). Waiting work resumes with the
// next work, which a test may never bring.
setInterval(() => stat('.', () => {}), 1_000).unref();

process.on('message', ({ workerData, path }) => {
  if (workerData) setWorkerData({ ...workerData, runtime: 'child_process' });
  else {
    run(path).then(
      (result) => process.send({ result }),
      ({ message, stack }) => process.send({ error: { message, stack } }),
    );
  }
});

// Jest has ended, perhaps by a signal.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
