import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../src/adapters/database/database.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import type { DomainContext } from '../../src/context.js';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { prepareCluster } from '../../src/embedded/postgresCluster.js';
import { startPostgres, type RunningPostgres } from '../../src/embedded/postgresProcess.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { mountDisk, type SmallDisk } from '../support/disk.js';
import { newCategory, newClinic, newProduct } from '../support/factories.js';
import type { Harness } from '../support/harness.js';
import { temporaryDataDir } from '../support/postgres.js';
import { hasRedis, startRedis, type RedisServer } from '../support/redis.js';
import { hasS3Server, startS3Server, type S3Server } from '../support/s3.js';
import type { Client } from './history.js';

/** A treatment of the catalog, with amounts in cents. */
export interface Treatment {
  readonly id: string;
  readonly item: string;
  readonly total: number;
  readonly pharmacy: string;
  readonly isRx: boolean;
}

/** A tenant with its catalog and its API clients. */
export interface Tenant {
  readonly id: string;
  readonly mode: 'live' | 'sandbox';
  readonly clinics: readonly string[];
  readonly treatments: readonly Treatment[];
  readonly clients: readonly Client[];
}

/** A PostgreSQL of this process with a template database, which has the tenants. */
export interface Cluster {
  readonly dataDir: string;
  /** A folder for histories, which any end of this process removes. */
  readonly histories: string;
  readonly tenants: readonly Tenant[];
  readonly url: string;
  /** Copies the template. @returns its name */
  createDatabase(): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  /** Sends a signal to all processes of PostgreSQL. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** Starts it again if it has ended. */
  restart(): Promise<void>;
  /** PostgreSQL's, if this process may mount one. */
  readonly disk: SmallDisk | undefined;
  /** If this machine has its program. */
  readonly s3: S3Server | undefined;
  /** If this machine has its program. */
  readonly redis: RedisServer | undefined;
  close(): Promise<void>;
}

const TEMPLATE = 'consistency';
/** Enough for PostgreSQL, the databases of a run, and a little more. */
const DISK_MB = 768;
const ROLES = [
  'partner',
  'partner',
  'limited',
  'provider',
  'provider',
  'provider',
  'billing',
  'billing',
  'pharmacy',
] as const;

/** Starts PostgreSQL. It survives the kill of its processes, but not of the machine, so that it need not wait for the disk. */
export async function openCluster(): Promise<Cluster> {
  const disk = await mountDisk(DISK_MB);
  const { dataDir, remove } = await temporaryDataDir(disk?.path);
  const histories = await temporaryDataDir();
  const cluster = await prepareCluster(dataDir);
  // Outside the range of outgoing connections, which could take the port while PostgreSQL is down.
  const port = randomInt(20_000, 30_000);
  const settings = { fsync: 'off', max_connections: '200', max_wal_size: '128MB' };
  const started = async (): Promise<RunningPostgres> => {
    for (const end = Date.now() + 60_000; ;) {
      const running = await startPostgres(cluster, settings, port);
      if (running) return running;
      if (Date.now() > end) throw new Error(`PostgreSQL did not start again: see ${cluster.logFile}`);
      await delay(20);
    }
  };
  let postgres = await started();
  const hasEnded = (): boolean =>
    [postgres.process?.exitCode, postgres.process?.signalCode].some((code) => code != null);
  const url = (name: string): string => Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href;
  const run = (sql: string) => withClient({ connectionString: postgres.url }, (client) => client.query(sql));
  await run(`CREATE DATABASE ${TEMPLATE}`);
  await migrateDatabase({ ownerUrl: url(TEMPLATE), url: url(TEMPLATE) });
  const db = openDatabase(url(TEMPLATE));
  const tenants = await Promise.all([0, 1, 2].map((index) => seedTenant(systemContext(db), index)));
  await db.close();
  const s3 = hasS3Server() ? await startS3Server() : undefined;
  const redis = hasRedis() ? await startRedis() : undefined;
  let databases = 0;
  return {
    dataDir,
    histories: histories.dataDir,
    tenants,
    url: postgres.url,
    s3,
    redis,
    disk,
    async createDatabase() {
      const name = `seed_${(databases += 1)}`;
      await run(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY file_copy`);
      return name;
    },
    async dropDatabase(name) {
      await run(`DROP DATABASE ${name} WITH (FORCE)`);
    },
    async signal(name) {
      const { pid } = postgres;
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
      for (const each of [pid, ...children.split(' ').filter(Boolean).map(Number)]) process.kill(each, name);
      if (name === 'SIGKILL' && postgres.process && !hasEnded()) await once(postgres.process, 'exit');
    },
    async restart() {
      if (hasEnded()) postgres = await started();
    },
    async close() {
      await redis?.kill();
      await s3?.close();
      await remove();
      await histories.remove();
      await disk?.remove();
    },
  };
}

/** The first tenant is a sandbox, whose clock can move. */
async function seedTenant(domain: DomainContext, index: number): Promise<Tenant> {
  const mode = index === 0 ? 'sandbox' : 'live';
  const { id } = await createTenant(domain, { name: `Tenant ${index}`, mode, requireLicensedProvider: false });
  const harness = { domain } as unknown as Harness;
  const owner = { tenantId: id, clientId: '', clientSecret: '', token: '' };
  const clinics = [await newClinic(harness, owner), await newClinic(harness, owner)];
  const pharmacies = [domain.newId(), domain.newId()] as const;
  const skin = await newCategory(harness, owner);
  const treatment = async (group: typeof skin, price: number, shipping: number, pharmacyId: string, isRx = false) => {
    const amounts = { price: price.toFixed(2), shippingAmount: shipping.toFixed(2) };
    const product = await newProduct(harness, owner, { ...group, ...amounts, pharmacyId, isRx });
    const item = `${group.categoryId} ${group.subcategoryId}`;
    return { id: product, item, total: Math.round((price + shipping) * 100), pharmacy: pharmacyId, isRx };
  };
  const treatments = [
    await treatment(skin, 240, 15, pharmacies[0]),
    await treatment(skin, 60.1, 0, pharmacies[0]),
    await treatment(await newCategory(harness, owner), 0, 9.99, pharmacies[1]),
    await treatment(await newCategory(harness, owner), 120.55, 5, pharmacies[1], true),
  ];
  const clients = ROLES.map(async (role, number): Promise<Client> => {
    const name = `${id}.${role}.${number}`;
    const limits = role === 'limited' ? { clinics: clinics.slice(0, 1) } : {};
    const preset = role === 'limited' ? 'partner' : role;
    const created = await createApiClient(domain, { tenant: id, name, preset, ...limits });
    return { name, tenant: id, role, clientId: created.clientId, clientSecret: created.clientSecret };
  });
  return { id, mode, clinics, treatments, clients: await Promise.all(clients) };
}
