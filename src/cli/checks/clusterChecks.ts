import { layoutFaults } from '../../adapters/citus/layout.js';
import { leftovers, nodesOf } from '../../adapters/citus/cluster.js';
import { withClient } from '../../adapters/database/withClient.js';
import { PROGRAM } from '../command.js';
import { failure, ok, warning, type Result } from './check.js';

const HANDBOOK = 'scripts/production/scale.md#citus';
const ACTIVATE = `Start the nodes, then run SELECT citus_activate_node(…) on the coordinator (${HANDBOOK}).`;
const PLACE = `Run "${PROGRAM} citus layout". If it refuses, correct the placement by functions of Citus (${HANDBOOK}).`;

/** The checks of a Citus cluster; a single `ok` if the database is not on one. */
export function clusterResults(url: string): Promise<Result[]> {
  return withClient({ connectionString: url, connectionTimeoutMillis: 5_000 }, async (client) => {
    const nodes = await nodesOf(client);
    if (nodes.length === 0) return [ok('The database is on one machine.')];
    const inactive = nodes.filter(({ isActive }) => !isActive).map(({ name }) => name);
    const faults = await layoutFaults(client);
    const { isRebalancing, prepared, unremoved } = await leftovers(client);
    const results = [
      ...(inactive.length > 0 ? [failure(`Nodes are inactive or not in sync: ${inactive.join(', ')}.`, ACTIVATE)] : []),
      ...faults.map((fault) => failure(fault, PLACE)),
      ...prepared.map(({ name, count }) =>
        warning(
          `Prepared transactions on ${name} that are older than ten minutes, and hold locks: ${count}.`,
          'Run SELECT recover_prepared_transactions() on the coordinator. Let other programs end those that stay.',
        ),
      ),
      ...(unremoved > 0
        ? [
            warning(
              `Resources that moves or splits of shards left, or still use: ${unremoved}.`,
              'When none runs, run CALL citus_cleanup_orphaned_resources() on the coordinator.',
            ),
          ]
        : []),
    ];
    if (results.length > 0) return results;
    const moving = isRebalancing ? ' Shards are being rebalanced.' : '';
    return [ok(`${nodes.length} nodes of Citus are active, and each tenant's rows are on one of them.${moving}`)];
  });
}
