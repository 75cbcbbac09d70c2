import { addWorker, type CitusNode } from '../support/citusCluster.js';
import { rowsOf } from '../support/migrations.js';
import type { Fault } from './faults.js';
import type { World } from './world.js';

const nothing = (): void => undefined;
const citusOf = ({ cluster: { postgres } }: World) => {
  if (!postgres.citus) throw new Error('The lab does not run on Citus: run make lab ARGS="--citus"');
  return postgres.citus;
};
const run = (world: World, sql: string) => rowsOf(world.databaseUrl(), sql);
/** The tenant whose shard group is moved, and then isolated. */
const tenantOf = ({ tenants }: World): string => `'${tenants[1]?.id}'`;
const address = ({ port }: CitusNode): string => `'127.0.0.1', ${port}`;

/** Moves the shard group of a tenant to the other worker. */
async function move(world: World): Promise<void> {
  const [found] = await run(
    world,
    `SELECT shardid, nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
      WHERE shardid = get_shard_id_for_distribution_column('encounter', ${tenantOf(world)})`,
  );
  const { shardid, nodeport } = found as { shardid: string; nodeport: number };
  const target = citusOf(world).workers.find(({ port }) => port !== nodeport);
  if (!target) throw new Error('A shard moves only to a second worker: see tests/support/citusCluster.ts');
  const from = `'127.0.0.1', ${nodeport}`;
  await run(world, `SELECT citus_move_shard_placement(${shardid}, ${from}, ${address(target)}, 'force_logical')`);
}

/** The work of operators on a cluster, and its failures, in the order of `make lab ARGS='--citus'`. */
export const citusFaults: readonly Fault[] = [
  { name: 'none', callersSee: 'nothing', begin: () => nothing },
  {
    name: 'worker added, shards rebalanced',
    callersSee: '503',
    async begin(world) {
      const node = await citusOf(world).addNode();
      const coordinator = world.databaseUrl();
      await addWorker(coordinator, node.url(new URL(coordinator).pathname.slice(1)));
      await run(world, `SELECT citus_rebalance_start(shard_transfer_mode => 'force_logical')`);
      await run(world, 'SELECT citus_rebalance_wait()');
      return nothing;
    },
  },
  {
    name: 'shard group moved',
    callersSee: '503',
    async begin(world) {
      await move(world);
      return nothing;
    },
  },
  {
    name: 'worker killed',
    callersSee: '503',
    async begin(world) {
      await citusOf(world).workers[0]?.stop('SIGKILL');
      return () => world.cluster.postgres.restart();
    },
  },
  {
    name: 'coordinator restarted',
    callersSee: '503',
    async begin(world) {
      await citusOf(world).coordinator.stop('SIGINT');
      return () => world.cluster.postgres.restart();
    },
  },
  {
    name: 'tenant isolated, servers stopped',
    callersSee: '503 or no response',
    async begin(world) {
      const isolate = `SELECT isolate_tenant_to_new_shard('encounter', ${tenantOf(world)}, 'CASCADE', shard_transfer_mode => 'force_logical')`;
      await world.whileStopped(() => run(world, isolate));
      return nothing;
    },
  },
];
