import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { URL } from 'node:url';

/**
 * Fails a run of all tests that has not seen every status of the contract, and lists the missing ones. It ignores runs
 * of some tests.
 */
export default class StatusReporter {
  constructor(options) {
    this.options = options;
  }

  async onRunStart() {
    const { isFullRun, statusFolderVariable } = await import('./statuses.ts');
    if (!isFullRun(this.options)) return;
    this.folder = mkdtempSync(join(tmpdir(), 'ces-statuses-'));
    process.env[statusFolderVariable] = this.folder;
  }

  async onRunComplete(_contexts, { numFailedTests, numRuntimeErrorTestSuites }) {
    if (!this.folder) return;
    const { notedStatuses, statusFaults } = await import('./statuses.ts');
    const { operations } = await import('./contract.ts');
    const allowed = JSON.parse(readFileSync(new URL('../contract/unseenStatuses.json', import.meta.url), 'utf8'));
    const faults = statusFaults(operations, notedStatuses(this.folder), allowed);
    rmSync(this.folder, { recursive: true });
    // A failed test may be the reason for a missing status.
    if (faults.length === 0 || numFailedTests > 0 || numRuntimeErrorTestSuites > 0) return;
    this.error = new Error(
      `Statuses of the contract (allow-list: tests/contract/unseenStatuses.json)\n  ${faults.join('\n  ')}`,
    );
    process.stderr.write(`\n${this.error.message}\n`);
  }

  /** An error here makes the run fail. */
  getLastError() {
    return this.error;
  }
}
