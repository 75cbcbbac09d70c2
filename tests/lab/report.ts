import { readFileSync } from 'node:fs';
import type { Play } from './play.js';

/** A play by a seed, with how often each fault happened. */
export interface SeedRun extends Play<Readonly<Record<string, number>>> {
  readonly seed: number;
}

/** The report of a run, as Markdown. */
export function reportOf(runs: readonly SeedRun[]): string {
  const sum = (of: (run: SeedRun) => number): number => runs.reduce((total, run) => total + of(run), 0);
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const kinds = [...new Set(runs.flatMap(({ broken }) => Object.keys(broken)))].sort();
  const failed = runs.filter(({ anomalies }) => anomalies.length > 0);
  const rows = [
    ['seeds', `${runs.length} (${runs[0]?.seed} to ${runs.at(-1)?.seed})`],
    ['requests', sum(({ requests }) => requests).toLocaleString('en-US')],
    ['requests without a final response (none, or a 5xx)', sum(({ unknown }) => unknown).toLocaleString('en-US')],
    ['anomalies', sum(({ anomalies }) => anomalies.length)],
    ['minutes', (sum(({ seconds }) => seconds) / 60).toFixed(0)],
    ['version, Node.js', `${version}, ${process.version}`],
  ];
  return `# Consistency

<!-- Written by \`make consistency\`. Do not edit. -->

Clients of three tenants work at the same records of two servers and one PostgreSQL, while things break. An auditor judges every
response, the feed, the webhooks and the audit by the public rules ([how](README.md)).

| Measure | Figure |
|---|---|
${rows.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}

| Fault | Times |
|---|---|
${kinds.map((kind) => `| ${kind} | ${sum(({ broken }) => broken[kind] ?? 0)} |`).join('\n')}
${failed.length === 0 ? '' : `\nSeeds with anomalies: ${failed.map(({ seed, anomalies }) => `${seed} (${anomalies.length})`).join(', ')}.\n`}`;
}
