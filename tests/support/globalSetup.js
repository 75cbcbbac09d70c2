import process from 'node:process';
import { startPgBouncer } from './pgbouncer.ts';
import { adminUrl, startTestCluster } from './postgres.ts';
import { startReplication } from './replication.ts';

/** JavaScript, because Jest does not transform its own modules. */
export default async function globalSetup() {
  // Pure rules need no database (`make test-unit`).
  if (process.env['TEST_UNIT'] !== undefined) return;
  // The harness then reads from a standby (`make test-standby`).
  const replication = process.env['TEST_STANDBY'] === undefined ? undefined : await startReplication();
  if (replication) {
    process.env['TEST_DATABASE_URL'] = replication.primary().url;
    process.env['TEST_STANDBY_PORT'] = String(replication.standby().port);
  }
  const stop = await startTestCluster();
  // The harness then sends requests through a pooler (`make test-pooler`).
  const pooler = process.env['TEST_POOLER'] === undefined ? undefined : await startPgBouncer(adminUrl());
  if (pooler) process.env['TEST_POOLER_PORT'] = String(pooler.port);
  globalThis.stopTestCluster = async () => {
    await pooler?.close();
    await stop();
    await replication?.remove();
  };
}
