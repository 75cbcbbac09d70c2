import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { builtProgram } from '../support/builtProgram.js';
import { freePort } from '../support/mock.js';
import { openConnection, requestBytes } from '../support/rawHttp.js';
import { startStage, type Stage } from '../support/stage.js';

/** The log lines of these requests exceed the buffers of pipe and process, 1.5 MB in all, by half. */
const REQUESTS = 9_000;

let stage: Stage;
let child: ChildProcess;
let said: string;

beforeEach(async () => {
  stage = await startStage();
  said = '';
});

afterEach(async () => {
  child.kill('SIGKILL');
  await stage.close();
});

/** Starts the service, which prints its address to standard error. */
async function start(stdout: number | 'pipe', metricsPort = 0): Promise<string> {
  const settings = { PORT: '0', METRICS_PORT: String(metricsPort) };
  const env = { PATH: process.env['PATH'], ...settings, ...stage.environment };
  child = spawn(process.execPath, [builtProgram('main.js')], { env, stdio: ['ignore', stdout, 'pipe'] });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  for (;;) {
    const baseUrl = /service on (http:\S+)/i.exec(said)?.[1];
    if (baseUrl) return baseUrl;
    if (child.exitCode !== null || !child.stderr) throw new Error(`The service ended: ${said}`);
    await Promise.race([once(child.stderr, 'data'), once(child, 'close')]);
  }
}

/** Pipelines many requests; each must be answered. */
async function sendRequests(baseUrl: string): Promise<void> {
  const { socket } = await openConnection({ baseUrl });
  const request = requestBytes({ target: '/healthz' });
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  for (let sent = 0; sent < REQUESTS; sent += 100) {
    received = '';
    socket.write(Buffer.concat(Array<Buffer>(100).fill(request)));
    // Count in all that has arrived, because a chunk may end within a status line.
    while (received.split('HTTP/1.1 200').length <= 100) {
      await once(socket, 'data', { signal: AbortSignal.timeout(10_000) });
    }
  }
  socket.destroy();
}

async function lostLines(metricsPort: number): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(/^ces_log_lines_lost_total (\d+)$/m.exec(page)?.[1]);
}

it.each([
  ['is a full disk', () => openSync('/dev/full', 'w')],
  ['has a reader that stopped reading', () => 'pipe' as const],
])(
  'a server serves requests, counts lost log lines and ends on SIGTERM while standard output %s',
  async (_, stdout) => {
    const metricsPort = await freePort();
    await sendRequests(await start(stdout(), metricsPort));
    expect(await lostLines(metricsPort)).toBeGreaterThan(0);
    const closed = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await closed).toEqual([0, null]);
  },
);

it('the log resumes with complete lines when standard output recovers, and the metric counts the lost ones', async () => {
  const metricsPort = await freePort();
  const baseUrl = await start('pipe', metricsPort);
  await sendRequests(baseUrl);
  let log = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (log += text));
  let asked = 0;
  for (; !log.includes('getReadiness'); asked += 1) await (await fetch(`${baseUrl}/readyz`)).text();
  const lost = await lostLines(metricsPort);
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
  const parsed = (line: string): Record<string, unknown> => JSON.parse(line);
  const lines = log.split('\n').slice(0, -1).map(parsed);
  const logged = lines.filter(({ msg }) => msg === 'request').length;
  expect(lost).toBe(REQUESTS + asked - logged);
  expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
});
