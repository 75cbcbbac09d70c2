import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase, type Database } from '../../../src/adapters/database/database.js';
import { protectedUrl } from '../../../src/adapters/database/databaseUrl.js';
import { packageRoot } from '../../../src/packageRoot.js';
import { migrateDatabase } from '../../../src/runtime/serviceDatabase.js';
import { sampleFiles, startFileHost } from '../../../tests/support/fileHost.js';
import { freePort } from '../../../tests/support/mock.js';
import { part, type Part } from '../../../tests/support/part.js';
import { startPgBouncer } from '../../../tests/support/pgbouncer.js';
import { temporaryDataDir } from '../../../tests/support/postgres.js';
import { startProxy, type Proxy } from '../../../tests/support/proxy.js';
import { startReceiver, type Receiver } from '../../../tests/support/receiver.js';
import { listens } from '../../../tests/support/redis.js';
import { startReplication, type Replication } from '../../../tests/support/replication.js';
import { startS3Server } from '../../../tests/support/s3.js';
import { startFlags } from '../../bench/server.js';

/** A server with its own data folder, and its proxies to the two hosts of PostgreSQL and their poolers. */
interface Server extends Part {
  readonly ways: readonly Proxy[];
  /** Starts the stopped server with a clock that is wrong by these seconds. */
  startSkewed(seconds: number): Promise<void>;
}

/** A deployment of several machines, as processes on loopback. */
export interface Lab {
  /** The address of haproxy, which distributes requests to the servers. */
  readonly baseUrl: string;
  readonly servers: readonly Server[];
  readonly postgres: Replication;
  readonly redis: Part;
  /** The proxy between servers and object store, which can be interrupted. */
  readonly s3: Proxy;
  readonly fileUrl: string;
  readonly receiver: Receiver;
  readonly db: Database;
  /** Resolves once every part works. */
  healthy(): Promise<void>;
  close(): Promise<void>;
}

const SERVERS = 3;
/** Longer than haproxy needs to notice the failing readiness: two checks that are 2 s apart. */
const SHUTDOWN_DELAY = '6';
const BIG = '1000000';

/** Starts all parts in one temporary folder, which is removed when this process ends. @param withPooler one per host */
export async function startLab({ withPooler }: { readonly withPooler: boolean }): Promise<Lab> {
  const { dataDir: folder, remove } = await temporaryDataDir();
  // Let others enter: the S3 server and PostgreSQL, which runs as another user, create folders there.
  await chmod(folder, 0o711);
  process.env['TMPDIR'] = folder;
  const ports = await Promise.all(Array.from({ length: SERVERS + 2 }, freePort));
  const [proxyPort = 0, redisPort = 0, ...serverPorts] = ports;
  const baseUrl = `http://127.0.0.1:${proxyPort}`;
  const [postgres, s3Server, files, receiver] = await Promise.all([
    startReplication(),
    startS3Server(),
    startFileHost(),
    startReceiver(),
  ]);
  const nodes = [postgres.primary(), postgres.standby()];
  const poolers = withPooler ? await Promise.all(nodes.map(({ url }) => startPgBouncer(url))) : [];
  const databaseUrl = urlOf(nodes.map(({ port }) => port));
  await migrateDatabase({ ownerUrl: databaseUrl, url: databaseUrl });
  const s3 = await startProxy(s3Server.account.endpoint);
  const redis = part({
    command: ['redis-server', '--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    isReady: () => listens(redisPort),
    cwd: folder,
  });
  await redis.start();
  const shared = {
    ...s3Server.environment,
    S3_ENDPOINT: s3.url.replace(/\/$/, ''),
    BASE_URL: baseUrl,
    TRUSTED_PROXIES: '1',
    SHUTDOWN_DELAY,
    RATE_LIMIT_REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    ...{ RATE_LIMIT_REQUESTS: BIG, RATE_LIMIT_BURST: BIG, RATE_LIMIT_UPLOADS: BIG, RATE_LIMIT_TOKENS: BIG },
    DOCUMENT_FETCH_ALLOWED_HOSTS: files.host,
    WEBHOOK_ALLOWED_HOSTS: receiver.host,
  };
  const flags = await startFlags();
  const servers: Server[] = [];
  for (const port of serverPorts) {
    const targets = [...poolers, ...nodes];
    const ways = await Promise.all(targets.map((target) => startProxy(`http://127.0.0.1:${target.port}`)));
    const wayPorts = ways.map(({ url }) => Number(new URL(url).port));
    const [requests, direct] = [urlOf(wayPorts.slice(0, 2)), urlOf(wayPorts.slice(-2))];
    const dataDir = join(folder, `server-${port}`);
    await mkdir(dataDir);
    // Copy the first server's keys to the others, as a tool for secrets would.
    if (servers.length > 0) await copyFile(keysOf(serverPorts[0]), join(dataDir, 'signing-keys.json'));
    const database = { DATABASE_URL: requests, ...(withPooler && { DATABASE_DIRECT_URL: direct }) };
    const made = server(port, flags, { ...shared, DATA_DIR: dataDir, ...database });
    await made.start();
    servers.push({ ...made, ways });
  }
  const haproxy = part({
    command: ['haproxy', '-f', await haproxyFile(folder, proxyPort, serverPorts)],
    isReady: () => isReady(proxyPort),
    cwd: folder,
  });
  await haproxy.start();
  const db = openDatabase(databaseUrl);
  return {
    ...{ baseUrl, servers, postgres, redis, s3, receiver, db },
    fileUrl: files.serve('/a.pdf', { content: sampleFiles.pdf, headers: { 'Content-Type': 'application/pdf' } }),
    async healthy() {
      await postgres.synchronous();
      for (const port of serverPorts) while (!(await isReady(port)));
    },
    async close() {
      await db.close();
      await Promise.all([haproxy, redis, ...servers].map((each) => each.stop('SIGKILL')));
      await Promise.all(poolers.map((pooler) => pooler.close()));
      await Promise.all([postgres.remove(), s3Server.close(), s3.close(), files.close(), receiver.close()]);
      await Promise.all(servers.flatMap(({ ways }) => ways.map((way) => way.close())));
      await remove();
    },
  };

  function keysOf(port = 0): string {
    return join(folder, `server-${port}`, 'signing-keys.json');
  }
}

const urlOf = (ports: readonly number[]): string => {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  return protectedUrl('DATABASE_URL', `postgresql://postgres@${hosts}/ces?target_session_attrs=read-write`);
};

function server(
  port: number,
  flags: readonly string[],
  environment: Readonly<Record<string, string>>,
): Omit<Server, 'ways'> {
  const withClock = (NODE_OPTIONS: string): Part =>
    part({
      command: [process.execPath, ...flags, fileURLToPath(new URL('generated/build/src/main.js', packageRoot))],
      isReady: () => isReady(port),
      cwd: fileURLToPath(packageRoot),
      environment: { ...environment, PORT: String(port), NODE_OPTIONS },
    });
  let running = withClock('');
  return {
    start: () => (running = withClock('')).start(),
    startSkewed: (seconds) => (running = withClock(`--import=${skewed(seconds * 1_000)}`)).start(),
    signal: (name) => running.signal(name),
    pid: () => running.pid(),
    stop: (name) => running.stop(name),
  };
}

/** Writes a module that moves the clock of the process that loads it. */
const skewed = (ms: number): string => {
  const now = `static now() { return super.now() + ${ms} }`;
  const create = 'constructor(...given) { super(...(given.length > 0 ? given : [Date.now()])) }';
  return `data:text/javascript,${encodeURIComponent(`globalThis.Date = class extends Date { ${now} ${create} }`)}`;
};

/** Writes the kit's configuration of haproxy, with the lab's addresses. */
async function haproxyFile(folder: string, port: number, servers: readonly number[]): Promise<string> {
  const kit = await readFile(new URL('scripts/production/kit/haproxy.cfg', packageRoot), 'utf8');
  const text = servers.reduce(
    (each, server, index) => each.replace(`10.0.0.1${index + 1}:3000`, `127.0.0.1:${server}`),
    kit.replace(/^ {2}bind .*$/m, `  bind 127.0.0.1:${port}`),
  );
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, text);
  return file;
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
