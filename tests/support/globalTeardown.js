/** Stops what globalSetup started, in the same process. */
export default async function globalTeardown() {
  await globalThis.stopTestCluster();
}
