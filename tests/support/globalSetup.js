import { startTestCluster } from './postgres.ts';

/** JavaScript, because Jest does not transform what it loads itself. */
export default async function globalSetup() {
  globalThis.stopTestCluster = await startTestCluster();
}
