import { escapeLiteral } from 'pg';
import { lastLine } from '../../failures.js';
import { roleOf } from '../database/databaseUrl.js';
import { withClient, type Connection } from '../database/withClient.js';

/** A node of the cluster, as Citus knows it. */
export interface ClusterNode {
  /** Host and port. */
  readonly name: string;
  readonly isCoordinator: boolean;
  readonly isActive: boolean;
  readonly hasShards: boolean;
}

/** The oldest version of Citus that this build supports. */
const MIN_VERSION = 12;

/** The primary nodes, the coordinator first; none if the database lacks the extension citus. */
export async function nodesOf(client: Connection): Promise<ClusterNode[]> {
  const { rowCount } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`);
  if (rowCount === 0) return [];
  const { rows } = await client.query<ClusterNode>(
    `SELECT format('%s:%s', nodename, nodeport) AS name, groupid = 0 AS "isCoordinator",
        isactive AND metadatasynced AS "isActive", shouldhaveshards AS "hasShards"
      FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid`,
  );
  return rows;
}

/**
 * The obstacles found to distributing the tables of a database; empty if there are none.
 * @param serviceUrl the address that servers use, whose role all nodes must know
 */
export async function clusterFaults(client: Connection, serviceUrl: string): Promise<string[]> {
  const { rows } = await client.query<{ major: number }>(
    `SELECT split_part(extversion, '.', 1)::int AS major FROM pg_extension WHERE extname = 'citus'`,
  );
  const [installed] = rows;
  if (!installed) {
    return [
      'The database lacks the extension citus. Correct the DATABASE_… variables, or run CREATE EXTENSION citus in the database of this name on every node.',
    ];
  }
  if (installed.major < MIN_VERSION)
    return [
      `The extension citus is older than ${MIN_VERSION}. On every node, install a newer package, restart PostgreSQL, and run ALTER EXTENSION citus UPDATE in the database of this name.`,
    ];
  const nodes = await nodesOf(client);
  const inactive = nodes.filter(({ isActive }) => !isActive);
  return [
    ...(nodes.some(({ isCoordinator }) => isCoordinator)
      ? []
      : ['The coordinator has no address. Run SELECT citus_set_coordinator_host(host, port) on it.']),
    ...(nodes.some(({ isCoordinator, hasShards }) => !isCoordinator && hasShards)
      ? []
      : [
          "The cluster has no worker for shards. On the coordinator, run SELECT citus_add_node(host, port), or citus_set_node_property(host, port, 'shouldhaveshards', true) for a worker.",
        ]),
    ...inactive.map(
      ({ name }) =>
        `The node ${name} is inactive or not in sync. Start it if it is down, then run SELECT citus_activate_node(host, port) on the coordinator.`,
    ),
    ...(inactive.length > 0 ? [] : await settingFaults(client, roleOf(serviceUrl))),
    ...(await connectionFaults(serviceUrl)),
  ];
}

/** Settings and roles that nodes lack. */
async function settingFaults(client: Connection, role: string): Promise<string[]> {
  const faults = `SELECT coalesce(string_agg(fault, ' '), '') FROM (
    SELECT 'Set wal_level = logical, and restart PostgreSQL: shards move by logical replication.' AS fault
      WHERE current_setting('wal_level') <> 'logical'
    UNION ALL SELECT 'Set max_prepared_transactions to at least max_connections, and restart PostgreSQL.'
      WHERE current_setting('max_prepared_transactions')::int < current_setting('max_connections')::int
    UNION ALL SELECT format('Create the role %s, with LOGIN.', ${escapeLiteral(role)})
      WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${escapeLiteral(role)})) AS faults`;
  const { rows } = await client.query<{ name: string; success: boolean; result: string }>(
    `SELECT format('%s:%s', nodename, nodeport) AS name, success, result
      FROM run_command_on_all_nodes($1) JOIN pg_dist_node USING (nodeid) WHERE NOT success OR result <> ''`,
    [faults],
  );
  return rows.map(({ name, success, result }) =>
    success
      ? `${name}: ${result}`
      : `${name} cannot be checked: ${result}. Correct that on this node, or the connection of the coordinator to it.`,
  );
}

/** The nodes that cannot reach each other by the role of the service. */
async function connectionFaults(serviceUrl: string): Promise<string[]> {
  const role = roleOf(serviceUrl);
  const config = { connectionString: serviceUrl, connectionTimeoutMillis: 5_000 };
  const query = `SELECT format('%s:%s', from_nodename, from_nodeport) AS from, format('%s:%s', to_nodename, to_nodeport) AS to
    FROM citus_check_cluster_node_health() WHERE NOT coalesce(result, false)`;
  const asked = withClient(config, (client) => client.query<{ from: string; to: string }>(query));
  const found = asked.then(({ rows }) =>
    rows.map(
      ({ from, to }) =>
        `No connection from ${from} to ${to} as the role ${role} succeeded. Start both; correct the network, LOGIN of the role, pg_hba.conf of ${to}, or .pgpass of ${from}.`,
    ),
  );
  // Report this beside the other faults: one of them may say that the role is missing.
  return found.catch((error: unknown) => [
    `The role ${role} cannot use the coordinator: ${lastLine(error)}. Correct that, DATABASE_URL (with a pooler, DATABASE_DIRECT_URL), or the role on every node.`,
  ]);
}

/** Transactions prepared over ten minutes ago by node, the resources that shard moves left, and whether one is running. */
export async function leftovers(client: Connection) {
  const { rows: prepared } = await client.query<{ name: string; count: number }>(
    `SELECT format('%s:%s', nodename, nodeport) AS name, result::int AS count
      FROM run_command_on_all_nodes($1) JOIN pg_dist_node USING (nodeid) WHERE success AND result::int > 0`,
    [
      `SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database() AND prepared < now() - interval '10 minutes'`,
    ],
  );
  const { rows } = await client.query<{ isRebalancing: boolean; unremoved: number }>(
    `SELECT EXISTS (SELECT FROM pg_dist_background_job WHERE state IN ('scheduled', 'running')) AS "isRebalancing",
      (SELECT count(*)::int FROM pg_dist_cleanup) AS unremoved`,
  );
  return { prepared, ...(rows[0] ?? { isRebalancing: false, unremoved: 0 }) };
}
