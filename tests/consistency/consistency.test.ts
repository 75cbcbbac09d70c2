import { openCluster, type Cluster } from './cluster.js';
import { runSeed } from './run.js';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await openCluster();
}, 120_000);
afterAll(() => cluster.close());

it('every response, event, webhook and audit row of concurrent clients follows the rules while servers and PostgreSQL fail', async () => {
  const run = await runSeed(cluster, { seed: 1, operations: 8, servers: 2, withFaults: true });
  expect(run.anomalies).toEqual([]);
  expect(run.requests).toBeGreaterThan(200);
}, 300_000);
