import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { openStage } from '../support/stage.js';
import { call } from '../support/http.js';
import { killServers, startServer } from '../support/serverProcess.js';

const stage = await openStage();
afterEach(killServers);

/** The service cannot catch an error in these places. */
const inTimer = 'setTimeout(() => { throw new TypeError("broken timer"); })';
const inEvent = 'new EventEmitter().emit("error", new TypeError("broken emitter"))';
const rejection = 'Promise.reject(Object.assign(new Error("jane.miller@example.com"), { code: "EBROKEN" }))';

/** Starts the service with a module that causes the fault on SIGUSR2. */
async function start(fault: string, environment: Record<string, string> = {}) {
  const file = join(stage.dataDir, 'fault.mjs');
  const imports = "import { EventEmitter } from 'node:events';";
  await writeFile(file, `${imports}\nprocess.on('SIGUSR2', () => { ${fault}; });\n`);
  const imported = { NODE_OPTIONS: `--import ${pathToFileURL(file).href}` };
  const server = startServer({ ...stage.environment, ...imported, ...environment });
  const baseUrl = await server.started;
  const ask = (path: string) => call({ baseUrl }, `GET ${path}`, { headers: { Connection: 'close' } });
  const fatal = () => server.logged().filter(({ level }) => Number(level) >= 50);
  return { server, ask, fatal };
}

const logged = {
  level: 60,
  msg: 'uncaught error; the process stops: start it again, and report the causes, unless they name a remedy',
  causes: [{ stack: expect.arrayContaining([expect.stringContaining('fault.mjs')]) }],
};

it('the server fails /readyz, still answers requests and exits with 1 after an exception in a timer', async () => {
  const { server, ask, fatal } = await start(inTimer, { SHUTDOWN_DELAY: '3' });
  server.child.kill('SIGUSR2');
  while ((await ask('/readyz')).status === 200) await delay(20);
  expect((await ask('/readyz')).body).toMatchObject({ status: 'unavailable', database: 'ok' });
  expect((await ask('/healthz')).status).toBe(200);
  expect(await server.ended).toEqual({ code: 1, signal: null });
  expect(fatal()).toMatchObject([logged]);
  expect(server.logged().at(-1)).toMatchObject({ msg: 'stopped' });
});

it.each([
  ['an error event without a listener', inEvent],
  ['an unhandled rejection without its message', rejection],
])('the server logs %s, and exits with 1', async (_error, fault) => {
  const { server, fatal } = await start(fault);
  server.child.kill('SIGUSR2');
  expect(await server.ended).toEqual({ code: 1, signal: null });
  expect(fatal()).toMatchObject([logged]);
  expect(server.stdout() + server.stderr()).not.toContain('jane.miller');
});
