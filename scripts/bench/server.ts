import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';
import type { BenchOperation, Sample } from './operations.js';

interface Usage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

/** A server that runs in its own process and reports its usage. */
export interface MeasuredServer {
  readonly url: string;
  /** Milliseconds from the start of the process to the line with its address. */
  readonly readyMs: number;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

const probe = new URL('usage.js', import.meta.url).href;

export async function startMeasured(
  program: string,
  flags: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<MeasuredServer> {
  const start = performance.now();
  const child = fork(fileURLToPath(new URL(program, packageRoot)), {
    execArgv: [...flags, '--import', probe],
    env: { PATH: process.env['PATH'], ...environment },
    cwd: fileURLToPath(packageRoot),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const url = await addressOf(child);
  const readyMs = performance.now() - start;
  const usage = async (): Promise<Usage> => {
    child.send('usage');
    const [answer] = (await once(child, 'message')) as [Usage];
    return answer;
  };
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { url, readyMs, usage, stop };
}

/** The address that a server prints. Keeps reading its output, because a full pipe would block the server. */
async function addressOf(child: ChildProcess): Promise<string> {
  let printed = '';
  return new Promise((resolve, reject) => {
    child.once('exit', (code, signal) =>
      reject(
        new Error(
          `${child.spawnargs.at(-1)} ended by ${signal ?? `code ${code}`} before it served. ${printed ? `Correct what it printed: ${printed}` : 'It printed nothing.'}`,
        ),
      ),
    );
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        if (printed.length < 10_000) printed += text;
        const [, url] = /(?:"baseUrl":"|^)(http:\/\/127\.0\.0\.1:\d+)/m.exec(printed) ?? [];
        if (url) resolve(url);
      });
    }
  });
}

/** The flags of V8 that `scripts/serve` gives to Node. */
export async function startFlags(): Promise<string[]> {
  const [, flags = ''] = /^exec node (.*) --require /m.exec(await readFile('scripts/serve', 'utf8')) ?? [];
  return flags.split(' ');
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

const CONNECTIONS = 10;
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

export async function send(url: string, operation: BenchOperation, sample: Sample): Promise<string> {
  const { method, path, key, body } = operation.request(sample);
  const text = body && JSON.stringify(body);
  const headers = {
    Authorization: `Bearer ${sample.token}`,
    'X-Bench': operation.name,
    ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    ...(text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers, agent }, (res) => {
      let received = '';
      res.setEncoding('utf8').on('data', (part: string) => (received += part));
      res.on('end', () => {
        if (res.statusCode && res.statusCode < 300) resolve(received);
        else
          reject(
            new Error(
              `${operation.name} got ${res.statusCode} ${received}: correct the request or SQL in scripts/bench, or the service.`,
            ),
          );
      });
    });
    sent.on('error', reject).end(text);
  });
}

/** Sends requests, as many at the same time as there are connections. */
export async function load(
  url: string,
  operation: BenchOperation,
  sample: Sample,
  requests: number,
  connections = CONNECTIONS,
): Promise<void> {
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await send(url, operation, sample);
  };
  await Promise.all(Array.from({ length: connections }, worker));
}

/** Microseconds of the server's CPU per request. */
export async function cpuPerRequest(
  server: MeasuredServer,
  operation: BenchOperation,
  sample: Sample,
  requests: number,
  connections?: number,
): Promise<number> {
  const before = await server.usage();
  await load(server.url, operation, sample, requests, connections);
  const after = await server.usage();
  return (after.cpuMicros - before.cpuMicros) / requests;
}
