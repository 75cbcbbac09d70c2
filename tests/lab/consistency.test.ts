import { killServers } from '../support/serverProcess.js';
import { openCluster } from './cluster.js';
import { breakByChance } from './faults.js';
import { play } from './play.js';

const cluster = await openCluster();
afterAll(async () => {
  await killServers();
  await cluster.close();
});

it('every response, event, webhook and audit row of concurrent clients follows the rules while faults are injected', async () => {
  const load = { seed: 1, operations: 8, servers: 2 } as const;
  const run = await play(cluster, load, (world, over) => breakByChance(world, load.seed, over));
  expect(run.anomalies).toEqual([]);
  expect(run.requests).toBeGreaterThan(200);
  expect(Object.keys(run.broken)).not.toEqual([]);
});
