import process from 'node:process';
import { startTestCluster } from './postgres.ts';

/** JavaScript, because Jest does not transform its own modules. */
export default async function globalSetup() {
  // Pure rules need no database (`make test-unit`).
  if (process.env['TEST_UNIT'] !== undefined) return;
  globalThis.stopTestCluster = await startTestCluster();
}
