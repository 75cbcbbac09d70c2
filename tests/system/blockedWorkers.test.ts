import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

let folder: string;
let child: ChildProcess;
let said: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ces-workers-'));
  said = '';
});

afterEach(async () => {
  child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

/** @param blockedMs for which a worker blocks before it listens */
function start(blockedMs = 0): void {
  const program = fileURLToPath(new URL('../support/workersProgram.js', import.meta.url));
  child = spawn(process.execPath, [program, join(folder, 'broken'), String(blockedMs)], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
}

const logged = (): Record<string, unknown>[] => {
  const lines = said.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
};

async function lineOf(message: string): Promise<Record<string, unknown>> {
  for (;;) {
    const line = logged().find(({ msg }) => msg === message);
    if (line) return line;
    if (!child.stdout || child.exitCode !== null)
      throw new Error(`The program ended without logging "${message}": ${said}`);
    await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
  }
}

/** Process ids of the two serving workers. Connections go to them in turn, and a stopped one does not respond. */
async function serving(): Promise<number[]> {
  const { port } = await lineOf('started');
  const ask = async (): Promise<number[]> => {
    const signal = AbortSignal.timeout(200);
    const response = await fetch(`http://127.0.0.1:${String(port)}`, { signal }).catch(() => undefined);
    return response ? [Number(await response.text())] : [];
  };
  for (;;) {
    const pids = new Set((await Promise.all([ask(), ask(), ask(), ask()])).flat());
    if (pids.size === 2) return [...pids];
  }
}

it('the server replaces a worker whose event loop is blocked, but not one that starts slowly', async () => {
  start(700);
  const [blocked = 0, other = 0] = await serving();
  process.kill(blocked, 'SIGSTOP');
  expect(await lineOf('a blocked worker is killed')).toMatchObject({ pid: blocked, silentMs: 500 });
  const now = await serving();
  expect([now.includes(blocked), now.includes(other)]).toEqual([false, true]);
  expect(() => process.kill(blocked, 0)).toThrow('ESRCH');
  expect(logged().filter(({ level }) => level === 50)).toHaveLength(2);
});

it('the server stops even while a worker is blocked', async () => {
  start();
  const [blocked = 0] = await serving();
  process.kill(blocked, 'SIGSTOP');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(() => process.kill(blocked, 0)).toThrow('ESRCH');
});

it('the server gives up after five attempts to replace a worker, and ends the others', async () => {
  start();
  const [first = 0, second = 0] = await serving();
  await writeFile(join(folder, 'broken'), '');
  process.kill(first, 'SIGKILL');
  expect(await once(child, 'close')).toEqual([1, null]);
  const ends = logged().filter(({ msg }) => String(msg).startsWith('a worker died'));
  expect(ends.map(({ code, signal }) => code ?? signal)).toEqual(['SIGKILL', 3, 3, 3, 3]);
  expect(logged().at(-1)).toMatchObject({ level: 60, msg: expect.stringContaining('5 attempts') });
  expect(() => process.kill(second, 0)).toThrow('ESRCH');
});
