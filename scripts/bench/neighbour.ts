import { Agent, request, type OutgoingHttpHeaders } from 'node:http';
import { operations, type Sample } from './operations.js';
import { median, send } from './server.js';

/** Tenants of the bench. `busy` and `sandbox` keep the server busy beside `neighbour`, a live one without a long history. */
export interface Samples {
  readonly live: Sample;
  readonly neighbour: Sample;
  readonly sandbox: Sample;
  readonly busy: Sample;
}

/** Simultaneous requests of the busy tenant, and of the measured one. */
const LOOPS = 8;
const CONNECTIONS = 10;
const ROUNDS = 9;
const REQUESTS = 400;

const BURDENS: readonly [
  name: string,
  by: 'busy' | 'sandbox',
  method: string,
  path: (encounterId: number) => string,
][] = [
  ['certificates', 'busy', 'GET', (encounterId) => `/encounters/${encounterId}/certificate`],
  ['pages of 100 encounters', 'busy', 'GET', () => '/encounters?limit=100'],
  ['resets of a sandbox', 'sandbox', 'POST', () => '/sandbox/reset'],
];

/**
 * Measures how much another tenant's work slows a tenant down, without rate limits: the 95th percentile of the time of
 * its responses (the measured operations by turns, ten at the same time), beside a busy tenant and alone, by turns.
 * @returns rows of a name, the time alone and beside the busy tenant, in ms, their ratio, and the number of the busy
 * tenant's requests per second; medians of the rounds
 */
export async function measureNeighbour(url: string, samples: Samples): Promise<string[][]> {
  const rows = [];
  for (const [name, by, method, path] of BURDENS) {
    const headers = { Authorization: `Bearer ${samples[by].token}` };
    const listed = await fetch(`${url}/encounters?status=completed&limit=1`, { headers });
    const { data } = (await listed.json()) as { data: { encounter_id: number }[] };
    const target = url + path(data[0]?.encounter_id ?? NaN);
    const [alone, beside, rates]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      alone.push(await p95(url, samples.neighbour));
      const agent = new Agent({ keepAlive: true });
      const start = performance.now();
      let isOver = false;
      let sent = 0;
      const loop = async (): Promise<void> => {
        for (; !isOver; sent += 1) await ask(agent, target, method, headers);
      };
      const loops = Promise.all(Array.from({ length: LOOPS }, loop));
      beside.push(await p95(url, samples.neighbour));
      isOver = true;
      await loops;
      agent.destroy();
      rates.push((sent * 1_000) / (performance.now() - start));
    }
    const ratio = median(beside.map((time, round) => time / (alone[round] ?? NaN)));
    rows.push([
      name,
      ...[alone, beside].map((times) => median(times).toFixed(1)),
      `**${ratio.toFixed(1)}**`,
      median(rates).toFixed(0),
    ]);
    process.stdout.write(`${rows.at(-1)?.join(' | ')}\n`);
  }
  return rows;
}

/** Sends a request, and drops the content of the response: parsing it would slow the measurement in this process down. */
const ask = (agent: Agent, url: string, method: string, headers: OutgoingHttpHeaders): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent }, (response) => {
      const { statusCode = 0 } = response;
      response.resume().once('end', resolve);
      // Only one reset of a sandbox runs at a time; the others get 409.
      if (statusCode >= 300 && statusCode !== 409)
        reject(new Error(`${method} ${url} got ${statusCode}: correct scripts/bench/neighbour.ts or the service.`));
    });
    sent.once('error', reject).end();
  });

/** The 95th percentile of the times of a tenant's responses, in ms. */
async function p95(url: string, tenant: Sample): Promise<number> {
  const times: number[] = [];
  let left = REQUESTS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const operation = operations[left % operations.length];
      const start = performance.now();
      if (operation) await send(url, operation, tenant);
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? NaN;
}
