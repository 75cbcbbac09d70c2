import process from 'node:process';
import { startPgBouncer } from './pgbouncer.ts';
import { adminUrl, startTestCluster } from './postgres.ts';

/** Starts the cluster of the run, and, for `make test-pooler`, a pooler in front of it. */
export default async function globalSetup() {
  // Pure rules need no database (`make test-unit`).
  if (process.env['TEST_UNIT'] !== undefined) return;
  const stop = await startTestCluster();
  // The harness then sends requests through the pooler.
  const pooler = process.env['TEST_POOLER'] === undefined ? undefined : await startPgBouncer(adminUrl());
  if (pooler) process.env['TEST_POOLER_PORT'] = String(pooler.port);
  globalThis.stopTestCluster = async () => {
    await pooler?.close();
    await stop();
  };
}
