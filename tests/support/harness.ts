import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openDatabase } from '../../src/adapters/database/database.js';
import { createApp } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import type { Services } from '../../src/context.js';
import type { BackgroundContext } from '../../src/domain/transactions/transaction.js';
import { drain, listen } from '../../src/http/listener/listen.js';
import { createHttpServer } from '../../src/http/listener/server.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { openServices } from '../../src/runtime/services.js';
import { startFileHost, type FileHost } from './fileHost.js';
import { observe } from './observer.js';
import { throughPooler } from './pgbouncer.js';
import { createTestDatabase } from './postgres.js';

/** Only tests move this clock. */
export interface Clock {
  now: Date;
  /** Moves the service's time forward. */
  advance(seconds: number): void;
}

/** The service on loopback, without its jobs and deliveries, with the clock and the log of a test. */
export interface Harness {
  readonly baseUrl: string;
  readonly services: Services;
  /** To create and to inspect records. */
  readonly domain: BackgroundContext;
  readonly clock: Clock;
  readonly server: Server;
  /** Everything logged so far, one object a line. */
  readonly logged: readonly Record<string, unknown>[];
  readonly dataDir: string;
  close(): Promise<void>;
}

export interface HarnessOptions {
  /** More environment variables, as for the real service. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Changes the services before the app is made, for example to break one. */
  readonly change?: (services: Services) => Services;
  /** Used instead of a new test database. */
  readonly databaseUrl?: string;
}

/** Starts the service; each answer of an operation is checked against the contract, and `close` fails if one broke it. */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const database = options.databaseUrl === undefined ? await createTestDatabase() : undefined;
  const dataDir = await mkdtemp(join(tmpdir(), 'ces-data-'));
  const clock = newClock();
  // A test that names a database also chooses the way to it, so do not add the pooler.
  const direct = options.databaseUrl ?? database?.url ?? '';
  const defaults = { DATA_DIR: dataDir, VALIDATE_RESPONSES: 'true', RATE_LIMIT: 'off' };
  const config = readConfig({ ...defaults, ...options.environment });
  const url = database === undefined ? direct : throughPooler(direct);
  const db = openDatabase(url, { poolSize: config.databasePoolSize, isPooled: url !== direct });
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'info', base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const domain = { ...systemContext(db), now: () => new Date(clock.now), log };
  const state = { baseUrl: '', isServing: true, wakeDeliveries: () => undefined };
  const opened = await openServices({ config, domain, databaseUrl: url, log, state });
  // A spread would read the base URL before it is known.
  const services = options.change?.(opened) ?? opened;
  const app = await createApp(services);
  const server = createHttpServer(app, config);
  const faults: string[] = [];
  server.prependListener('request', (_req, res) => observe(res, faults));
  state.baseUrl = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}`;
  return {
    baseUrl: state.baseUrl,
    services,
    domain,
    clock,
    server,
    logged,
    dataDir,
    async close() {
      await drain(server, 5_000);
      await domain.db.close();
      await database?.drop();
      await rm(dataDir, { recursive: true, force: true });
      if (faults.length > 0)
        throw new Error(`Answers broke the contract; correct the code or openapi/: ${[...new Set(faults)].join('; ')}`);
    },
  };
}

/** Starts the service while a test file loads, and closes it after the tests of the file. */
export async function openHarness(options?: HarnessOptions): Promise<Harness> {
  const harness = await startHarness(options);
  afterAll(() => harness.close());
  return harness;
}

/** {@link openHarness}, which may fetch documents from a host that closes with it. */
export async function openHarnessWithHost(): Promise<{ readonly harness: Harness; readonly host: FileHost }> {
  const host = await startFileHost();
  afterAll(() => host.close());
  return { harness: await openHarness({ environment: { DOCUMENT_FETCH_ALLOWED_HOSTS: host.host } }), host };
}

function newClock(): Clock {
  return {
    now: new Date('2026-11-20T16:00:00.000Z'),
    advance(seconds) {
      this.now = new Date(this.now.getTime() + seconds * 1000);
    },
  };
}
