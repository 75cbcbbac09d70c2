import { startTestCluster } from './postgres.ts';

/** JavaScript, because Jest does not transform its own modules. */
export default async function globalSetup() {
  globalThis.stopTestCluster = await startTestCluster();
}
