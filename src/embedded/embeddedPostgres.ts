import { setTimeout as delay } from 'node:timers/promises';
import { Client, escapeLiteral } from 'pg';
import { withClient } from '../adapters/database/withClient.js';
import { prepareCluster, type Cluster } from './postgresCluster.js';
import { findPostgres, startPostgres, stopPostgres, urlOf, type RunningPostgres } from './postgresProcess.js';

/** The advisory lock that a cluster's owner holds: two fixed numbers, unused elsewhere. */
const ownerLock = [0x63_65_73, 1] as const;

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** A `server` owns the cluster. A `tool`, such as the CLI, uses a running server's cluster, or owns it until it closes. */
  readonly role: 'server' | 'tool';
  readonly log: (message: string) => void;
  /** Is called if PostgreSQL dies or ends the owner's session: another process may own the cluster from then on. */
  readonly lost?: () => void;
  /** Milliseconds to wait while another process owns the cluster; default 30,000. */
  readonly timeoutMs?: number;
  /** Additional settings of PostgreSQL, for tests. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** Address for connecting as superuser, who owns all tables. */
  readonly url: string;
  /** Address for connecting as the service's role, which has only the rights granted by the migrations. */
  readonly serviceUrl: string;
  readonly started: boolean;
  close(): Promise<void>;
}

/** The service's role. Its password is the superuser's: a second one would be stored in the same folder. */
const SERVICE_ROLE = 'clinical_encounter_service';

interface Session {
  readonly running: RunningPostgres;
  /** The connection that holds the owner's lock; undefined for a tool that uses a server's cluster. */
  readonly lock: Client | undefined;
}

/**
 * Opens the PostgreSQL of DATA_DIR on loopback and starts it if necessary. The process that holds an advisory lock owns
 * PostgreSQL. `close()` of a server stops it, that of a tool only if the tool started it. If an owner is killed, PostgreSQL
 * keeps running and the next owner takes it over. If PostgreSQL dies, the owner must stop; the next start restarts it.
 * @throws Error if it cannot be prepared or started, or if another process keeps DATA_DIR for longer than `timeoutMs`
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await prepareCluster(options.dataDir);
  const { running, lock } = await acquire(cluster, options);
  const started = running.process !== undefined;
  await createServiceRole(running.url, cluster.password);
  const lost = (): void => options.lost?.();
  lock?.once('end', lost);
  return {
    url: running.url,
    serviceUrl: urlOf(SERVICE_ROLE, cluster.password, running.port),
    started,
    async close() {
      lock?.off('end', lost);
      const release = async (): Promise<void> => lock?.end();
      if (options.role === 'server') return stopPostgres(cluster, running, 'fast', release);
      if (started) return stopPostgres(cluster, running, 'smart', release);
      await release();
    },
  };
}

/** Creates the service's role if it is missing: an earlier start may have been killed. Two processes may do so at once. */
async function createServiceRole(url: string, password: string): Promise<void> {
  const statement = `DO $$ BEGIN
      IF to_regrole('${SERVICE_ROLE}') IS NULL THEN
        CREATE ROLE ${SERVICE_ROLE} LOGIN PASSWORD ${escapeLiteral(password)};
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$`;
  await withClient({ connectionString: url }, (client) => client.query(statement));
}

/** Finds or starts PostgreSQL, and waits until this process may use it as owner or tool. */
async function acquire(cluster: Cluster, options: EmbeddedPostgresOptions): Promise<Session> {
  const deadline = Date.now() + (options.timeoutMs ?? 30_000);
  for (let told = false; ; told = true) {
    const found = (await findPostgres(cluster)) ?? (await startPostgres(cluster, options.settings ?? {}));
    let holder: string | undefined;
    if (typeof found === 'object') {
      const claim = await claimOwnership(cluster, found, options.role);
      if (typeof claim === 'object') return { running: found, lock: claim };
      holder = claim;
      // A tool may use a server's PostgreSQL, but must wait for another tool, which may stop it.
      if (options.role === 'tool' && holder?.startsWith('server')) return { running: found, lock: undefined };
    }
    const place = `DATA_DIR ${options.dataDir}`;
    const reason = holder ? `${place} is in use by ${holder}` : `The PostgreSQL of ${place} accepts no connections`;
    if (Date.now() > deadline) {
      const wait = 'Wait until that process ends, or stop it; a second server needs another DATA_DIR.';
      const start =
        'Correct what postgres.log there says, or wait until PostgreSQL accepts them, then try again; if none runs, first delete postgres/data/postmaster.pid there.';
      throw new Error(`${reason}. ${holder ? wait : start}`);
    }
    if (!told) options.log(`Waiting: ${reason}`);
    await delay(100);
  }
}

/** The connection that got the owner's lock, or the owner ("server process 123"); undefined if PostgreSQL is not usable. */
async function claimOwnership(cluster: Cluster, { url }: RunningPostgres, role: string) {
  const client = new Client({ connectionString: url, application_name: `${role} process ${process.pid}` });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ owned: boolean; holder: string | null }>(
      `SELECT pg_try_advisory_lock($1, $2) AS owned,
        (SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
          WHERE locktype = 'advisory' AND classid = $1 AND objid = $2 AND granted LIMIT 1) AS holder`,
      [...ownerLock],
    );
    // An owner tells PostgreSQL to stop before it unlocks: if new connections are still accepted, it is not stopping.
    if (rows[0]?.owned === true && typeof (await findPostgres(cluster)) === 'object') return client;
    await client.end();
    return rows[0]?.holder ?? undefined;
  } catch {
    await client.end().catch(() => {});
    return undefined;
  }
}
