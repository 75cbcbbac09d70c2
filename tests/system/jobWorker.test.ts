import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { pino, type Logger } from 'pino';
import { checkJobSchema, migrateJobSchema } from '../../src/adapters/jobs/jobSchema.js';
import { startJobWorker, type JobWorker, type ScheduledJob } from '../../src/adapters/jobs/jobWorker.js';
import { openServiceDatabase } from '../../src/runtime/serviceDatabase.js';
import { jobs } from '../../src/jobs/index.js';
import { rowsOf } from '../support/migrations.js';
import { adminUrl, createEmptyDatabase, createTestDatabase } from '../support/postgres.js';
import { startProxy } from '../support/proxy.js';

let logged: Record<string, unknown>[];
let workers: JobWorker[] = [];

const database = await createTestDatabase();
const sql = new Client({ connectionString: database.url });
await sql.connect();
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop(1_000)));
  workers = [];
  await sql.query('DELETE FROM graphile_worker._private_jobs');
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

/** February 31: a job runs only when a test queues it. */
const never = '0 0 31 2 *';

async function start(
  name: string,
  run: ScheduledJob['run'],
  { count = 1, url = database.serviceUrl }: { count?: number; url?: string | undefined } = {},
): Promise<JobWorker[]> {
  logged = [];
  const log: Logger = pino({ base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const job = { name, cron: never, run };
  const started = await Promise.all(Array.from({ length: count }, () => startJobWorker({ url, jobs: [job], log })));
  workers.push(...started);
  return started;
}

/** Queues a run, as the engine's clock does. */
const ask = (name: string, payload: object = {}): Promise<unknown> =>
  sql.query('SELECT graphile_worker.add_job($1, payload => $2)', [name, payload]);

async function waiting(): Promise<Record<string, unknown>[]> {
  const { rows } = await sql.query<Record<string, unknown>>(
    'SELECT attempts, last_error, locked_by, run_at FROM graphile_worker._private_jobs',
  );
  return rows;
}

/** Fails before jest's timeout, so that the clean-up still runs. */
async function until(condition: () => unknown): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the condition did not hold within 20 s');
    await delay(20);
  }
}

/** Waits until the queue is empty. */
const done = (): Promise<void> => until(async () => (await waiting()).length === 0);

/** Process ids of the workers' sessions in PostgreSQL. */
const sessions = async (): Promise<unknown[]> => {
  const { rows } = await sql.query<{ pid: number }>(`SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'clinical-encounter-jobs'`);
  return rows.map(({ pid }) => pid);
};

/** A promise that `open` resolves. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** Starts a worker and a run of a job, which waits until `proceed.open()`. */
async function startHeld(name: string, url?: string) {
  const [entered, signalled, proceed] = [gate(), gate(), gate()];
  const runs = { begun: 0, ended: 0 };
  const [worker] = await start(
    name,
    async (signal) => {
      signal.addEventListener('abort', signalled.open);
      runs.begun += 1;
      entered.open();
      await proceed.opened;
      runs.ended += 1;
    },
    { url },
  );
  await ask(name);
  await entered.opened;
  return { worker, signalled, proceed, runs };
}

describe('a job worker', () => {
  it('takes each run once when three workers share the queue', async () => {
    let runs = 0;
    await start('count', async () => void (runs += 1), { count: 3 });
    for (let run = 0; run < 20; run += 1) {
      await ask('count');
      await done();
    }
    expect(runs).toBe(20);
  });

  it('leaves slots to other jobs while one takes longer than its period', async () => {
    const { proceed, runs } = await startHeld('long');
    for (let run = 0; run < 5; run += 1) await ask('long');
    // The run in progress stays in the queue until its end; the others end without a second one.
    await until(async () => (await waiting()).length === 1);
    expect(runs).toEqual({ begun: 1, ended: 0 });
    proceed.open();
    await done();
  });

  it('registers the schedule of every job of the service', async () => {
    const log = pino({ level: 'silent' });
    const idle = jobs.map(({ name, cron }) => ({ name, cron, run: async () => undefined }));
    workers = await Promise.all([1, 2].map(() => startJobWorker({ url: database.serviceUrl, jobs: idle, log })));
    const known = async (): Promise<unknown[]> => {
      const rows = await rowsOf(database.url, 'SELECT identifier FROM graphile_worker._private_known_crontabs');
      return rows.map(({ identifier }) => identifier);
    };
    const expected = jobs.map(({ name }) => name);
    await until(async () => (await known()).length >= expected.length);
    expect(await known()).toEqual(expect.arrayContaining(expected));
  });

  it('runs jobs even if the database refused its first look for them', async () => {
    // A sequence keeps its value when the refused statement rolls back.
    await sql.query(`CREATE SEQUENCE refused;
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM nextval('public.refused'); RAISE EXCEPTION 'not now'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON graphile_worker._private_tasks EXECUTE FUNCTION refuse();
      GRANT USAGE ON SEQUENCE refused TO PUBLIC`);
    await start('late', async () => undefined);
    await until(async () => (await sql.query('SELECT FROM refused WHERE is_called')).rowCount);
    await sql.query('DROP FUNCTION refuse CASCADE; DROP SEQUENCE refused');
    await ask('late');
    await done();
  });

  it('retries a failed job, and neither logs nor stores the text of its error', async () => {
    let runs = 0;
    await start('fragile', async () => {
      runs += 1;
      if (runs === 1) throw Object.assign(new SyntaxError('jane@example.com is wrong'), { code: 'E_JANE' });
    });
    await ask('fragile', { note: 'jane' });
    await until(async () => (await waiting()).some(({ last_error: error }) => error !== null));
    expect(await waiting()).toMatchObject([{ attempts: 1, last_error: 'fragile failed', locked_by: null }]);
    // Makes the retry due now instead of after the engine's delay of some seconds.
    await sql.query('UPDATE graphile_worker._private_jobs SET run_at = now()');
    await sql.query(`SELECT pg_notify('jobs:insert', '{"count":1}')`);
    await done();
    expect(runs).toBe(2);
    const causes = [{ name: 'SyntaxError', code: 'E_JANE' }];
    expect(logged).toMatchObject([{ level: 50, msg: 'job failed', job: 'fragile', attempt: 1, causes }]);
    expect(JSON.stringify(logged)).not.toContain('jane');
  });

  it('continues after PostgreSQL has terminated all its sessions during a job', async () => {
    const { proceed, runs } = await startHeld('patient');
    const before = await sessions();
    await sql.query('SELECT pg_terminate_backend(unnest($1::int[]))', [before]);
    await until(async () => !(await sessions()).some((pid) => before.includes(pid)));
    proceed.open();
    await done();
    await ask('patient');
    await until(() => runs.ended === 2);
    await done();
    expect(logged.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  it('restarts the engine when it could not record the end of a run', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const admin = new Client({ connectionString: adminUrl() });
    admin.on('error', () => undefined);
    await admin.connect();
    const allow = (connections: boolean): Promise<unknown> =>
      admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${connections}`);
    let runs = 0;
    await start('cut', async () => {
      runs += 1;
      if (runs > 1) return;
      await allow(false);
      await admin.query('SELECT pg_terminate_backend(unnest($1::int[]))', [await sessions()]);
    });
    await ask('cut');
    try {
      await until(() => logged.some(({ msg }) => msg === 'the job engine stopped and is restarted'));
    } finally {
      await allow(true);
      await admin.end();
    }
    await until(() => runs === 2);
    await done();
  });
});

describe('stopping a job worker', () => {
  it('signals the running job to abort, waits for it, and takes no other job', async () => {
    const { worker, signalled, proceed, runs } = await startHeld('slow');
    const stopped = worker?.stop(20_000);
    await signalled.opened;
    await ask('slow');
    expect(runs.ended).toBe(0);
    proceed.open();
    await stopped;
    expect(runs).toEqual({ begun: 1, ended: 1 });
    expect(await waiting()).toMatchObject([{ locked_by: null }]);
    // PostgreSQL lists an ended session a moment longer.
    await until(async () => (await sessions()).length === 0);
    expect(logged).toEqual([]);
  });

  it('returns unfinished jobs to the queue after the time limit, even while the engine fetches another', async () => {
    const proxy = await startProxy(database.serviceUrl);
    const { worker, proceed } = await startHeld('endless', proxy.url);
    const fetching = gate();
    proxy.watch((chunk, from) => {
      if (from === 'client' && chunk.includes('get_job')) fetching.open();
      return null;
    });
    // The fetch reaches PostgreSQL when the time of its jobs is over.
    proxy.slow(200);
    await ask('endless');
    await fetching.opened;
    proxy.slow(0);
    await worker?.stop(50);
    proceed.open();
    await proxy.close();
    expect(await waiting()).toMatchObject([{ locked_by: null }, { locked_by: null }]);
  });
});

describe('the schema of the job engine', () => {
  it('is created once when three processes migrate an empty database', async () => {
    const empty = await createEmptyDatabase();
    expect(await checkJobSchema(empty.url)).toEqual({ state: 'behind', pending: ['graphile_worker'] });
    const applied = await Promise.all([1, 2, 3].map(() => migrateJobSchema(empty.url)));
    expect(applied.flat()).toEqual(['graphile_worker']);
    expect(await checkJobSchema(empty.url)).toEqual({ state: 'current' });
    await empty.drop();
  });

  const later = (isBreaking: boolean): string =>
    `INSERT INTO graphile_worker.migrations (id, breaking) VALUES (999999, ${isBreaking})`;

  it('is accepted in a later revision that is compatible with this build', async () => {
    const changed = await createTestDatabase();
    await rowsOf(changed.url, later(false));
    expect(await checkJobSchema(changed.url)).toEqual({ state: 'current' });
    await changed.drop();
  });

  it.each([
    [
      'lacks migrations of this build',
      'DELETE FROM graphile_worker.migrations WHERE id > 10',
      'lacks graphile_worker. Run "scripts/ces migrate"',
    ],
    ['has a later revision that breaks this build', later(true), 'does not know revision 999999 of graphile_worker'],
  ])('stops the start and stays unchanged when it %s', async (_state, change, message) => {
    const changed = await createTestDatabase();
    await rowsOf(changed.url, change);
    const revisions = () => rowsOf(changed.url, 'SELECT id FROM graphile_worker.migrations');
    const before = await revisions();
    const addresses = { databaseUrl: changed.url, databaseDirectUrl: null, databaseOwnerUrl: null };
    const options = {
      ...addresses,
      applyMigrations: false,
      dataDir: '/nowhere',
      log: () => undefined,
      role: 'server',
    } as const;
    await expect(openServiceDatabase(options)).rejects.toThrow(message);
    expect(await revisions()).toEqual(before);
    await changed.drop();
  });
});
