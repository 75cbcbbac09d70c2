import { chmod } from 'node:fs/promises';
import { openDatabase } from '../../src/adapters/database/database.js';
import { layOut } from '../../src/adapters/citus/layout.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { joinNodes, type CitusCluster } from '../support/citusCluster.js';
import { hasDebianPostgres } from '../support/debianPostgres.js';
import { mountDisk, type SmallDisk } from '../support/disk.js';
import { temporaryDataDir } from '../support/postgres.js';
import { hasRedis, startRedis, type RedisServer } from '../support/redis.js';
import { hasS3Server, startS3Server, type S3Server } from '../support/s3.js';
import { startAlone, startCluster, startPair, type Postgres } from './postgres.js';
import { seedTenant, type Tenant } from './tenants.js';

/** The machines behind the servers, and a template database with the tenants. */
export interface Cluster {
  readonly postgres: Postgres;
  /** Undefined if this machine has no Redis. */
  readonly redis: RedisServer | undefined;
  /** Undefined if this machine has no S3 server. */
  readonly s3: S3Server | undefined;
  /** The disk of PostgreSQL; undefined if this process may not mount one. */
  readonly disk: SmallDisk | undefined;
  /** A folder that any end of this process removes. */
  readonly folder: string;
  readonly tenants: readonly Tenant[];
  /** Copies the template. @returns the name of the copy */
  createDatabase(): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  close(): Promise<void>;
}

const TEMPLATE = 'lab';
/** Enough for PostgreSQL, its standby, the databases of a run, and a little more. */
const DISK_MB = 1_024;

/**
 * @param withStandby if this machine has Debian's PostgreSQL; otherwise the embedded one runs alone
 * @param onCitus on three nodes, which this machine must have
 */
export async function openCluster({ withStandby = false, onCitus = false } = {}): Promise<Cluster> {
  const disk = await mountDisk(DISK_MB);
  if (disk) await chmod(disk.path, 0o755);
  const { dataDir: folder, remove } = await temporaryDataDir();
  const startOne = withStandby && hasDebianPostgres() ? startPair : startAlone;
  const start = onCitus ? startCluster : startOne;
  const [postgres, s3, redis] = await Promise.all([
    start(disk?.path),
    hasS3Server() ? startS3Server() : undefined,
    hasRedis() ? startRedis() : undefined,
  ]);
  const run = (sql: string) =>
    withClient({ connectionString: postgres.url('postgres') }, (client) => client.query(sql));
  await run(`CREATE DATABASE ${TEMPLATE}`);
  const url = postgres.url(TEMPLATE);
  await migrateDatabase({ ownerUrl: url, url });
  const db = openDatabase(url);
  const tenants = await Promise.all([0, 1, 2].map((index) => seedTenant(systemContext(db), index)));
  await db.close();
  let databases = 0;
  return {
    ...{ postgres, redis, s3, disk, folder, tenants },
    async createDatabase() {
      const name = `seed_${(databases += 1)}`;
      await run(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY file_copy`);
      if (postgres.citus) await spread(name, postgres.citus);
      return name;
    },
    async dropDatabase(name) {
      await run(`DROP DATABASE ${name} WITH (FORCE)`);
    },
    async close() {
      await redis?.kill();
      await s3?.close();
      await postgres.remove();
      await remove();
      await disk?.remove();
    },
  };
}

/** Distributes a database over the nodes, as an operator does with one that has rows. */
async function spread(name: string, { coordinator, workers }: CitusCluster): Promise<void> {
  await joinNodes([coordinator, ...workers].map((node) => node.url(name)));
  await withClient({ connectionString: coordinator.url(name) }, layOut);
}
