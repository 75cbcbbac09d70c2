import { setTimeout as delay } from 'node:timers/promises';
import { Client, escapeLiteral } from 'pg';
import { withClient } from '../adapters/database/withClient.js';
import { prepareCluster, type Cluster } from './postgresCluster.js';
import { findPostgres, startPostgres, stopPostgres, urlOf, type RunningPostgres } from './postgresProcess.js';

/** The advisory lock that makes one process the owner: any two fixed numbers that nothing else locks. */
const ownerLock = [0x63_65_73, 1] as const;

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** `server` owns the cluster; `tool` (the command line) joins a running one, or owns it while it works. */
  readonly role: 'server' | 'tool';
  readonly log: (message: string) => void;
  /** How long to wait for another owner to go, in milliseconds; default 30 000. */
  readonly timeoutMs?: number;
  /** More PostgreSQL settings, for tests: name → value. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** Of the superuser, who owns everything. */
  readonly url: string;
  /** Of the service's role, which has only the rights that the migrations grant. */
  readonly serviceUrl: string;
  /** This process started PostgreSQL. */
  readonly started: boolean;
  /** This process made the cluster: it holds nothing yet. */
  readonly firstStart: boolean;
  close(): Promise<void>;
}

/** Its password is the superuser's: both lie in DATA_DIR, which only the service reads. */
const SERVICE_ROLE = 'clinical_encounter_service';

interface Session {
  readonly running: RunningPostgres;
  /** The connection that holds the owner's lock; absent for a tool beside a server. */
  readonly lock: Client | undefined;
}

/**
 * Opens the PostgreSQL of DATA_DIR, on loopback, started when it is not running. It outlives a killed service, and the
 * next one adopts it. One process owns it (by an advisory lock on a connection of its own) and stops it in `close()`.
 * @throws Error naming DATA_DIR and the other process when a second server finds it owned for longer than `timeoutMs`.
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { cluster, created } = await prepareCluster(options.dataDir);
  let session = await acquire(cluster, options);
  const { url, process: child } = session.running;
  let closing = false;
  let restoring = Promise.resolve();

  /** PostgreSQL went away under its owner: it comes back at the same address. */
  const restore = async (): Promise<void> => {
    while (!closing) {
      options.log('The embedded PostgreSQL is gone: starting it again');
      try {
        session = await acquire(cluster, options, session.running.port);
        return watch();
      } catch (error) {
        options.log(`The embedded PostgreSQL could not be started again: ${String(error)}`);
        await delay(1_000);
      }
    }
  };
  const watch = (): void => {
    session.lock?.once('end', () => {
      restoring = restore();
    });
  };
  watch();
  await createServiceRole(url, cluster.password);

  return {
    url,
    serviceUrl: urlOf(SERVICE_ROLE, cluster.password, session.running.port),
    started: child !== undefined,
    firstStart: created,
    async close() {
      closing = true;
      await restoring;
      const release = async (): Promise<void> => session.lock?.end();
      if (options.role === 'server') return stopPostgres(cluster, session.running, 'fast', release);
      if (child !== undefined) return stopPostgres(cluster, session.running, 'smart', release);
      await release();
    },
  };
}

/** Made at every start, because a cluster may come from a build that had no such role. Two may do it at once. */
async function createServiceRole(url: string, password: string): Promise<void> {
  const statement = `DO $$ BEGIN
      IF to_regrole('${SERVICE_ROLE}') IS NULL THEN
        CREATE ROLE ${SERVICE_ROLE} LOGIN PASSWORD ${escapeLiteral(password)};
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$`;
  await withClient({ connectionString: url }, (client) => client.query(statement));
}

/** Finds or starts PostgreSQL until this process may use it in its role. */
async function acquire(cluster: Cluster, options: EmbeddedPostgresOptions, port?: number): Promise<Session> {
  const deadline = Date.now() + (options.timeoutMs ?? 30_000);
  for (let told = false; ; told = true) {
    const found = (await findPostgres(cluster)) ?? (await startPostgres(cluster, options.settings ?? {}, port));
    let holder = 'a PostgreSQL that is starting or stopping';
    if (typeof found === 'object') {
      const claim = await claimOwnership(cluster, found, options.role);
      if (typeof claim === 'object') return { running: found, lock: claim };
      holder = claim ?? holder;
      // Beside a server a tool just works; beside another tool it waits, because that one is going to stop PostgreSQL.
      if (options.role === 'tool' && holder.startsWith('server')) return { running: found, lock: undefined };
    }
    const reason = `DATA_DIR ${options.dataDir} is in use by ${holder}`;
    if (Date.now() > deadline) throw new Error(reason);
    if (!told) options.log(`Waiting: ${reason}`);
    await delay(100);
  }
}

/** A connection with the owner's lock, or who has it ("server process 123"); undefined when PostgreSQL is stopping. */
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
    // The last owner signals shutdown before unlocking, so a connection we still get is to a live server.
    if (rows[0]?.owned === true && typeof (await findPostgres(cluster)) === 'object') return client;
    await client.end();
    return rows[0]?.holder ?? undefined;
  } catch {
    await client.end().catch(() => {});
    return undefined;
  }
}
