import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import process from 'node:process';
import { pino } from 'pino';
import { sendHeartbeats, startWorkers } from '../../generated/build/src/runtime/workers.js';

// Two workers that respond with their process id, supervised every few milliseconds instead of seconds. A worker blocks
// for `blockedMs` before it listens, and exits while a file `broken` exists.
const [, , broken = '', blockedMs] = process.argv;
const watch = { beatMs: 50, maxSilentBeats: 10, pausesMs: [10, 20, 30, 40, 50] };

if (cluster.isPrimary) {
  const log = pino({ base: null });
  const { port, failed, stop } = await startWorkers(2, {}, log, watch);
  log.info({ port }, 'started');
  const failure = await Promise.race([
    failed,
    new Promise((resolve) => process.once('SIGTERM', () => resolve(undefined))),
  ]);
  await stop();
  if (failure) log.fatal(failure.message);
  process.exit(failure ? 1 : 0);
} else {
  if (existsSync(broken)) process.exit(3);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockedMs));
  process.on('SIGTERM', () => process.exit(0));
  const server = createServer((_req, res) => void res.setHeader('Connection', 'close').end(String(process.pid)));
  server.listen(0, '127.0.0.1', () => sendHeartbeats(watch.beatMs));
}
