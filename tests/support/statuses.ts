import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContractOperation } from './contract.js';

/** Names the folder of noted statuses in a run of all tests; jest passes only the environment to its workers. */
export const statusFolderVariable = 'TEST_STATUS_FOLDER';

/** Notes a status of an operation, in one file per worker, so that workers do not overwrite each other. */
export function noteStatus(operationId: string, status: number): void {
  const folder = process.env[statusFolderVariable];
  if (folder) appendFileSync(join(folder, String(process.pid)), `${nameOf(operationId, status)}\n`);
}

/** The statuses that all workers have noted. */
export function notedStatuses(folder: string): ReadonlySet<string> {
  const lines = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
  return new Set(lines.filter(Boolean));
}

/**
 * Faults after a run of all tests: declared statuses that no test has seen, and entries of the allow-list that are seen
 * or not declared, so that the list can only shrink.
 * @param allowed entries such as `getPatient 503`
 */
export function statusFaults(
  operations: readonly Pick<ContractOperation, 'operationId' | 'statuses'>[],
  seen: ReadonlySet<string>,
  allowed: readonly string[],
): string[] {
  const declared = operations.flatMap(({ operationId, statuses }) =>
    statuses.map((status) => nameOf(operationId, status)),
  );
  return [
    ...declared.filter((name) => !seen.has(name) && !allowed.includes(name)).map((name) => `no test has seen ${name}`),
    ...allowed.filter((name) => seen.has(name)).map((name) => `${name} was seen: take it off the list`),
    ...allowed
      .filter((name) => !declared.includes(name))
      .map((name) => `${name} is not declared: take it off the list`),
  ];
}

/** The command-line options that jest passes to a reporter. */
export interface RunOptions {
  /** Paths or patterns of files. */
  readonly nonFlagArgs: readonly string[];
  readonly testPathPatterns: { readonly patterns: readonly string[] };
  readonly testNamePattern?: string;
  readonly onlyChanged: boolean;
  readonly onlyFailures: boolean;
  readonly shard?: object;
}

/** Whether the run has all tests; a partial run cannot see all statuses. */
export function isFullRun({
  nonFlagArgs,
  testPathPatterns,
  testNamePattern,
  onlyChanged,
  onlyFailures,
  shard,
}: RunOptions): boolean {
  const patterns = [...nonFlagArgs, ...testPathPatterns.patterns, testNamePattern].filter(Boolean);
  return patterns.length === 0 && !onlyChanged && !onlyFailures && shard === undefined && process.env['SLOW'] !== '1';
}

const nameOf = (operationId: string, status: number): string => `${operationId} ${status}`;
