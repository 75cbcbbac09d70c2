import { killServers } from '../support/serverProcess.js';
import { openCluster, type Cluster } from './cluster.js';
import { runSeed } from './run.js';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await openCluster();
}, 120_000);
afterAll(async () => {
  await killServers();
  await cluster.close();
});

it('every response, event, webhook and audit row of concurrent clients follows the rules while faults are injected', async () => {
  const run = await runSeed(cluster, { seed: 1, operations: 8, servers: 2, withFaults: true });
  expect(run.anomalies).toEqual([]);
  expect(run.requests).toBeGreaterThan(200);
  expect(Object.keys(run.faults)).not.toEqual([]);
}, 300_000);
