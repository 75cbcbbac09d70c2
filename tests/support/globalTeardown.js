/** Stops the cluster that globalSetup started in this process. */
export default async function globalTeardown() {
  await globalThis.stopTestCluster?.();
}
