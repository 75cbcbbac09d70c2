import { tsImport } from 'tsx/esm/api';

/** JavaScript, because jest does not transform what a global setup imports; tsx does. */
export default async function globalSetup() {
  const { startTestCluster } = await tsImport('./postgres.ts', import.meta.url);
  globalThis.stopTestCluster = await startTestCluster();
}
