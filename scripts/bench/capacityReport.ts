import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import type { Costs, Size } from './costs.js';

/** Numbers of busy cores: the predicted, then the measured one. */
export type Compared = readonly [number, number];

type Row = readonly [string, Costs];

interface Report {
  readonly operations: readonly Row[];
  /** `encounter`: the sum of an encounter's steps. `read`: the mean of all reads. */
  readonly encounter: Costs;
  readonly read: Costs;
  /** The cost of one of `lives` encounters that were sent as a whole, including the pages that they changed. */
  readonly whole: Costs;
  readonly lives: number;
  /** The cost of a second without requests. */
  readonly idle: Costs;
  /** Growth of each table per encounter. */
  readonly sizes: readonly Size[];
  /** Number of requests per encounter. */
  readonly requests: number;
  readonly load: string;
  readonly compared: Readonly<Record<string, Compared>>;
}

const rounded = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toPrecision(3)) : value);
const table = (names: readonly string[], rows: readonly (readonly unknown[])[]): string =>
  [names, names.map((_, column) => (column === 0 ? '---' : '--:')), ...rows]
    .map((cells) => `| ${cells.map(rounded).join(' | ')} |`)
    .join('\n');

/** Writes scripts/bench/RESULTS-capacity.md. */
export async function writeReport(report: Report): Promise<void> {
  const { operations, encounter, read, whole, lives, idle, sizes, requests, load, compared } = report;
  const sums: Row[] = [
    ['**an encounter, the sum of its steps**', encounter],
    [`**an encounter as a whole, of ${lives}, with its pages**`, whole],
    ['**a read, the mean**', read],
    ['a second without requests', idle],
  ];
  const ofOperations = [...operations, ...sums].map(([name, cost]) => [name, ...Object.values(cost)]);
  const ofTables = sizes
    .filter(({ rows }) => rows > 0.01)
    .map(({ name, rows, table: bytes, indexes }) => [name, rows, bytes, indexes]);
  const ofCores = Object.entries(compared).map(([name, [predicted, measured]]) => [
    ...[name, predicted, measured, predicted / measured],
  ]);
  const bytesOf = (...names: string[]): number =>
    sizes.reduce((sum, { name, table, indexes }) => sum + (names.includes(name) ? table + indexes : 0), 0);
  const audit = bytesOf('audit_event', 'audit_seal');
  const [events, keys] = [bytesOf('event', 'webhook_delivery'), bytesOf('idempotency_key')];
  const records = bytesOf(...sizes.map(({ name }) => name)) - audit - events - keys;
  const figures = {
    encounter: { requests, ...encounter, walBytes: whole.walBytes, writes: whole.writes },
    read: { requests: 1, ...read },
    bytes: { records, events, keys, audit: audit / requests },
  };
  const text = `# What an encounter costs

One server and its embedded PostgreSQL, a live tenant with a webhook endpoint. Written by \`make bench-capacity\`.

${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}

${table(['operation', 'server, ms', 'PostgreSQL, ms', 'WAL, bytes', 'writes'], ofOperations)}

${table(['table', 'rows per encounter', 'bytes per encounter', 'bytes of its indexes'], ofTables)}

${load}:

${table(['busy cores', '`ces capacity`', 'measured', 'ratio'], ofCores)}

Figures for [capacity.ts](../../src/cli/capacity.ts):

\`\`\`json
${JSON.stringify(figures, (_key, value: unknown) => rounded(value), 2)}
\`\`\`
`;
  await writeFile(new URL('RESULTS-capacity.md', import.meta.url), text);
}
