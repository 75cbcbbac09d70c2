import { databaseClock, type Database } from '../../adapters/database/database.js';
import { isLocal } from '../../adapters/database/databaseUrl.js';
import { checkSchema } from '../../adapters/database/migrations.js';
import { assertRestored } from '../../adapters/database/restoreMark.js';
import { rightsOfRole } from '../../adapters/database/serviceRole.js';
import { withClient } from '../../adapters/database/withClient.js';
import { openSigningKeys } from '../../adapters/tokens/signingKeys.js';
import { jobCounts } from '../../adapters/jobs/jobCounts.js';
import type { Config } from '../../config.js';
import { areKnown } from '../../domain/access/knownKeys.js';
import { backupAges, hasOldLiveTenant } from '../../domain/audit/backups.js';
import { checkpointDelay } from '../../domain/audit/checkpoints.js';
import { incompleteProviders } from '../../domain/providers/importProviders.js';
import { causeOf } from '../../failures.js';
import { PROGRAM } from '../command.js';
import { COMPLETE_THEM, incompleteText } from '../provider.js';
import { clusterResults } from './clusterChecks.js';
import { failure, ok, runChecks, warning, type Finding, type Result } from './check.js';

export interface CheckedDatabase {
  readonly db: Database;
  readonly url: string;
  readonly config: Config;
  /** The number of servers that share the database. */
  readonly servers: number;
}

/** Connections of a server outside its request pool: 5 for jobs, 5 for webhooks, 1 for readiness, 2 in reserve. */
export const OTHER_CONNECTIONS = 13;
const MAX_SKEW_MS = 5_000;
const MAX_LAG_SECONDS = 60;
const MAX_JOB_DELAY_SECONDS = 300;
/** Ten minutes: a job adds checkpoints every minute, and a few of its runs may fail. */
const MAX_CHECKPOINT_DELAY_SECONDS = 600;

/** The extensions that the initial migration creates, for the indexes of searches. */
const EXTENSIONS = ['pg_trgm', 'btree_gin'];

/** Two days: a backup is made every day, and one may fail. */
const MAX_BACKUP_AGE_SECONDS = 172_800;
const BACKUP = 'scripts/production/backup.md';
const HANDBOOK = 'scripts/production/database.md';
const MIGRATE = `Run "${PROGRAM} migrate", with DATABASE_OWNER_URL if the service has a separate role.`;
const RUNBOOKS = 'scripts/production/runbooks.md';
const startFor = (alert: string) => `Start or restart a server, and see its log (${RUNBOOKS}#${alert}).`;
/** The remedy for a check that PostgreSQL does not answer. */
const UNANSWERED = `Run doctor again; if the check fails again, see PostgreSQL's log and ${RUNBOOKS}#connections.`;

/** PostgreSQL's settings and state, as read by {@link readServer}. */
type Server = Awaited<ReturnType<typeof readServer>>;

/** Reads PostgreSQL's settings and state. @throws the driver's error if the database does not answer */
export async function readServer({ everyTenant }: Database) {
  const [server] = await everyTenant.rows<{
    version: string;
    major: number;
    encoding: string;
    isReadOnly: boolean;
    isStandby: boolean;
    lagSeconds: number;
    commit: string;
    standbyNames: string;
    standbys: number;
    parameterLength: string;
    verbosity: string;
    connections: number;
    isEncrypted: boolean;
    archiving: { isOn: boolean; seconds: number | null; isFailing: boolean };
    missing: string[];
    unavailable: string[];
  }>`
    SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
      pg_encoding_to_char(encoding) AS encoding, current_setting('transaction_read_only') = 'on' AS "isReadOnly",
      pg_is_in_recovery() AS "isStandby",
      coalesce(extract(epoch FROM (SELECT max(replay_lag) FROM pg_stat_replication)), 0)::float AS "lagSeconds",
      current_setting('synchronous_commit') AS commit, current_setting('synchronous_standby_names') AS "standbyNames",
      (SELECT count(*) FROM pg_stat_replication WHERE coalesce(sync_state IN ('sync', 'quorum'), true)
        OR current_setting('synchronous_standby_names') = '')::int AS standbys,
      current_setting('log_parameter_max_length') AS "parameterLength",
      current_setting('log_error_verbosity') AS verbosity,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0) AS connections,
      coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "isEncrypted",
      (SELECT json_build_object('isOn', current_setting('archive_mode') <> 'off',
          'seconds', extract(epoch FROM now() - last_archived_time),
          'isFailing', coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false))
        FROM pg_stat_archiver) AS archiving,
      ARRAY(SELECT name FROM unnest(${EXTENSIONS}::text[]) AS name
        WHERE name NOT IN (SELECT extname FROM pg_extension)) AS missing,
      ARRAY(SELECT wanted FROM unnest(${EXTENSIONS}::text[]) AS wanted
        WHERE wanted NOT IN (SELECT name FROM pg_available_extensions)) AS unavailable
    FROM pg_database WHERE datname = current_database()`;
  if (!server) throw new Error('The server is not PostgreSQL: its pg_database lacks the current database');
  return server;
}

/** Checks a database that answers, and changes nothing. Skips {@link contentChecks} if the build cannot use the schema. */
export async function checkContents(server: Server, place: CheckedDatabase): Promise<Finding[]> {
  const ofServer = Object.entries(serverChecks).map(([name, run]) => {
    return { name, remedy: UNANSWERED, run: async () => run(server, place) };
  });
  const ofContents = Object.entries(contentChecks).map(([name, run]) => {
    return { name, remedy: `If a right is missing: ${MIGRATE} ${UNANSWERED}`, run: () => run(place, server) };
  });
  const schema = await runChecks([
    { name: 'migrations', remedy: `If a right is missing: ${MIGRATE} ${UNANSWERED}`, run: () => migrations(place) },
  ]);
  const isUsable = schema.every(({ level }) => level !== 'failure');
  return [...(await runChecks(ofServer)), ...schema, ...(isUsable ? await runChecks(ofContents) : [])];
}

async function migrations({ url }: CheckedDatabase): Promise<Result> {
  const schema = await checkSchema(url);
  if (schema.state === 'current') return ok('The schema is that of this build.');
  if (schema.state === 'behind') return failure(`Pending: ${schema.pending.join(', ')}.`, MIGRATE);
  if (schema.state === 'unknown') return failure(schema.reason, 'See scripts/production/upgrade.md.');
  const message = `The database is newer than this build, which still supports it: ${schema.names.join(', ')}.`;
  return warning(message, 'Update this build, unless you went back to it (scripts/production/upgrade.md).');
}

/** The checks of PostgreSQL itself, which need no schema. */
const serverChecks: Readonly<Record<string, (server: Server, place: CheckedDatabase) => Result | Promise<Result>>> = {
  'database version'({ major, version }) {
    if (major >= 15 && major <= 18) return ok(`PostgreSQL ${version}.`);
    return failure(
      `PostgreSQL ${version} is not supported.`,
      `Use PostgreSQL 15 to 18. Restore existing data into it (${BACKUP}).`,
    );
  },
  encoding({ encoding }) {
    if (encoding === 'UTF8') return ok('UTF8.');
    const advice = `Create a database with ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0. Restore existing data into it (${BACKUP}), and name it in the URLs.`;
    return failure(`The encoding of the database is ${encoding}.`, advice);
  },
  extensions({ unavailable }) {
    if (unavailable.length === 0) return ok('PostgreSQL has the extensions for searches.');
    const message = `PostgreSQL does not have the extensions ${unavailable.join(', ')}.`;
    return failure(message, "Install PostgreSQL's contrib package.");
  },
  async clock(_, { db }) {
    const aheadMs = (await databaseClock(db))().getTime() - Date.now();
    if (Math.abs(aheadMs) <= MAX_SKEW_MS) return ok('The clocks of the database and of this machine agree.');
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    const message = `The clock of the database is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's.`;
    return failure(message, 'Synchronize both machines by NTP.');
  },
  primary(server) {
    if (server.isStandby) {
      const advice = `Set DATABASE_URL (with a pooler, DATABASE_DIRECT_URL and the pooler's host) and DATABASE_OWNER_URL to the address of the primary (${HANDBOOK}#standbys), or let the recovery end.`;
      return failure('The database is a standby, or is being recovered.', advice);
    }
    if (server.isReadOnly) {
      const advice =
        'Turn off default_transaction_read_only of PostgreSQL, of the database and of the role, and in the URL.';
      return failure('Sessions of the database are read-only.', advice);
    }
    if (server.lagSeconds <= MAX_LAG_SECONDS) return ok('The database accepts changes.');
    return warning(
      `A standby or another reader of the WAL is ${Math.round(server.lagSeconds)} s behind.`,
      'Check its network, disk and recovery_min_apply_delay: pg_stat_replication names it.',
    );
  },
  durability({ isStandby, commit, standbyNames, standbys }) {
    if (isStandby) return ok('A standby confirms no change.');
    if (standbys === 0 && standbyNames === '') return ok('This PostgreSQL has no standby.');
    const waits = standbyNames !== '' && !['off', 'local'].includes(commit);
    // PostgreSQL's syntax: FIRST n (…), ANY n (…) or n (…); a list without a number demands one.
    const needed = Number(/^\s*(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(standbyNames)?.[1] ?? 1);
    if (waits && standbys >= needed)
      return ok(`A change is acknowledged when ${needed === 1 ? 'a standby has' : `${needed} standbys have`} it.`);
    if (waits) {
      const advice = `Start the missing standby, name it in synchronous_standby_names, or go on without it (${HANDBOOK}#standbys).`;
      const message = `Synchronous standbys: ${needed} needed, ${standbys} streaming. PostgreSQL confirms no change: callers get 503.`;
      return failure(message, advice);
    }
    const found = `synchronous_standby_names = '${standbyNames}', synchronous_commit = ${commit}`;
    const advice = `Name the standbys in synchronous_standby_names, with synchronous_commit = on, and reload (${HANDBOOK}#standbys). If pg_stat_replication shows only base backups or subscribers, ignore this.`;
    return warning(`A failover to a standby may lose acknowledged changes: ${found}.`, advice);
  },
  'database log'({ parameterLength, verbosity }) {
    if (parameterLength === '0' && verbosity === 'terse') return ok('PostgreSQL logs no values of statements.');
    const found = `log_parameter_max_length = ${parameterLength}, log_error_verbosity = ${verbosity}`;
    const advice = `Set log_parameter_max_length = 0 and log_error_verbosity = terse in PostgreSQL, and reload; ALTER ROLE and ALTER DATABASE must not set others (${HANDBOOK}).`;
    return failure(`PostgreSQL may log health data: ${found}.`, advice);
  },
  async restore(_, { url }) {
    const advice = `See ${BACKUP}#restore. If the message names no restore, run doctor again.`;
    const fault = await assertRestored(url).catch((error: unknown) => failure(`${causeOf(error)}.`, advice));
    return fault ?? ok('No restore is incomplete.');
  },
  async 'time zone'(_, { url }) {
    const [found] = await withClient({ connectionString: url }, (client) =>
      client.query<{ TimeZone: string }>('SHOW TimeZone').then(({ rows }) => rows),
    );
    return ok(
      `The service's sessions use UTC. The default of the database is ${found?.TimeZone}, which has no effect.`,
    );
  },
  encryption(server, { url, config: { databaseUrl, databaseDirectUrl } }) {
    const pooler = databaseDirectUrl === null ? null : databaseUrl;
    // PostgreSQL does not see how the service reaches a pooler: only its URL tells.
    if (!pooler?.includes('sslmode=disable') || isLocal('DATABASE_URL', pooler)) {
      if (server.isEncrypted) return ok('Connections to the database use TLS.');
      if (isLocal('DATABASE_URL', url)) return ok('The database is on this machine.');
    }
    const message = 'Health data may go to another machine in plain text.';
    const advice = `Set sslmode=verify-full in DATABASE_URL and, with a pooler, in DATABASE_DIRECT_URL and for the pooler's connections (${HANDBOOK}#encryption).`;
    return warning(message, advice);
  },
  connections(server, { config, servers }) {
    if (config.databaseDirectUrl !== null) {
      return ok(`The pooler may keep up to ${server.connections} connections, fewer by those of ces and backups.`);
    }
    const needed = (config.databasePoolSize + OTHER_CONNECTIONS) * servers;
    const message = `${servers} × (DATABASE_POOL_SIZE + ${OTHER_CONNECTIONS}) = ${needed} connections are needed, ${server.connections} allowed.`;
    if (needed <= server.connections) return ok(message);
    const advice = `Increase max_connections of PostgreSQL, decrease DATABASE_POOL_SIZE, use a pooler (${HANDBOOK}#pooler), or correct --servers.`;
    return failure(message, advice);
  },
};

type ContentCheck = (place: CheckedDatabase, server: Server) => Promise<Result | Result[]>;

/** The checks that need a schema that this build can use. */
const contentChecks: Readonly<Record<string, ContentCheck>> = {
  async 'search extensions'(_, { missing }) {
    if (missing.length === 0) return ok('The extensions for searches are installed.');
    const statements = missing.map((name) => `CREATE EXTENSION ${name}`).join('; ');
    return failure(
      `The database lacks the extensions ${missing.join(', ')}.`,
      `As the owner of this database and its tables, run "${statements}", then each CREATE INDEX … USING gin in prisma/migrations whose index is missing: dropping an extension drops its indexes.`,
    );
  },
  async backup({ db }, { archiving }) {
    if (archiving.isOn && archiving.isFailing) {
      return failure(
        "PostgreSQL's last attempt to archive its WAL failed.",
        `Correct archive_command or archive_library: see PostgreSQL's log (${BACKUP}#a-point-in-time). If you no longer archive, run "SELECT pg_stat_reset_shared('archiver')" as a superuser.`,
      );
    }
    const created = (await backupAges({ db })).find(({ step }) => step === 'created')?.age ?? null;
    const ages = [created, archiving.isOn ? archiving.seconds : null].filter((age) => age !== null);
    const hours = Math.round(Math.min(...ages) / 3_600);
    if (Math.min(...ages) <= MAX_BACKUP_AGE_SECONDS) return ok(`The last backup is ${hours} h old.`);
    if (!(await hasOldLiveTenant({ db }, MAX_BACKUP_AGE_SECONDS))) return ok('There is no live data to back up yet.');
    const message =
      ages.length > 0 ? `The last backup or archived WAL file is ${hours} h old.` : 'The audit records no backup.';
    const advice = `Schedule "${PROGRAM} backup create" (${BACKUP}#schedule), on Citus base backups (scripts/production/scale.md#backup-of-a-cluster), or correct why it fails (${RUNBOOKS}#backup). If you archive WAL, set archive_timeout.`;
    return failure(message, advice);
  },
  async role({ db }) {
    const { missing, isOwner } = await rightsOfRole(db);
    if (missing.length > 0) {
      const advice = `${MIGRATE} If the database is newer than this build, use the newer build; if another role owns a table, grant as that role.`;
      return failure(`The service's role lacks rights on ${missing.join(', ')}.`, advice);
    }
    if (!isOwner) return ok("The service's role reads and writes rows, and cannot change the schema or the audit.");
    const message = "The service's role may change the schema or the audit.";
    const advice = `Set DATABASE_URL (with a pooler, DATABASE_DIRECT_URL too) to a separate role for the service (${HANDBOOK}#roles). If it is separate already, revoke these rights from it and from PUBLIC.`;
    return warning(message, advice);
  },
  async 'keys of the installation'({ db, config: { signingKeysFile: file } }) {
    const keys = await openSigningKeys(file, null, () => undefined).catch(() => null);
    // The check "signing keys" reports an unreadable file.
    if (!keys) return [];
    if (await areKnown({ db }, await keys.current())) return ok('The database knows the signing keys.');
    const advice = `Correct SIGNING_KEYS_FILE, DATA_DIR or DATABASE_URL if it is of another installation. Otherwise move ${file} away, then copy the file of another server, or get that of the backup by "${PROGRAM} restore --with-keys" into an empty database. If all are lost, leave the file, run "${PROGRAM} keys rotate", and copy the file to all servers.`;
    return failure(`The keys in ${file} are not those that sign the tokens of this installation.`, advice);
  },
  cluster: ({ url }) => clusterResults(url),
  async providers({ db }) {
    const incomplete = await incompleteProviders(db);
    if (incomplete.length === 0) return ok('Active providers of live tenants have a credential and a DEA number.');
    return incomplete.map((of) => warning(incompleteText(of), COMPLETE_THEM));
  },
  async jobs({ db }) {
    const { due, failed, oldestSeconds } = await jobCounts(db);
    const isLate = oldestSeconds > MAX_JOB_DELAY_SECONDS;
    const late = `${due} jobs are due, the oldest for ${Math.round(oldestSeconds)} s.`;
    if (!isLate && failed === 0) return ok('No job is late.');
    return [
      ...(isLate ? [warning(late, startFor('work-late'))] : []),
      ...(failed > 0
        ? [warning(`The last run of ${failed} jobs failed.`, `See the log of the servers (${RUNBOOKS}#work-late).`)]
        : []),
    ];
  },
  async audit({ db }) {
    const seconds = (await checkpointDelay(db)) ?? 0;
    if (seconds <= MAX_CHECKPOINT_DELAY_SECONDS) return ok('Rows of the audit get their checkpoints in time.');
    return warning(`Rows of the audit have waited for a checkpoint for ${Math.round(seconds)} s.`, startFor('audit'));
  },
};
