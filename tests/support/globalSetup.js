import process from 'node:process';
import { startPgBouncer } from './pgbouncer.ts';
import { adminUrl, startTestCluster } from './postgres.ts';

/** JavaScript, because Jest does not transform its own modules. */
export default async function globalSetup() {
  // Pure rules need no database (`make test-unit`).
  if (process.env['TEST_UNIT'] !== undefined) return;
  const stop = await startTestCluster();
  // The harness then sends requests through a pooler (`make test-pooler`).
  const pooler = process.env['TEST_POOLER'] === undefined ? undefined : await startPgBouncer(adminUrl());
  if (pooler) process.env['TEST_POOLER_PORT'] = String(pooler.port);
  globalThis.stopTestCluster = async () => {
    await pooler?.close();
    await stop();
  };
}
