import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { openCluster, type EmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { majorOfData, prepareCluster, programsOf } from '../../src/embedded/postgresCluster.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { runJson, runProgram, startProcess } from '../cli/runProgram.js';
import { newEncounter, newPartner, newToken, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { rowsOf } from '../support/migrations.js';
import { temporaryDataDir } from '../support/postgres.js';
import { completedEncounter } from '../support/reviews.js';
import { hasTools, tools } from '../support/tools.js';

const OLD = 17;
const UPGRADE = ['upgrade-embedded', '--from', tools] as const;

let dataDir: string;
let remove: () => Promise<void>;
let partner: Partner;
let lastEncounter: number;
let before: Content;
const opened: { close(): Promise<void> }[] = [];

type Content = Awaited<ReturnType<typeof contentOf>>;

const environment = () => ({ DATA_DIR: dataDir, PATH: process.env['PATH'] ?? '' });
const dataOf = (name: string): string => join(dataDir, 'postgres', name);

/** Opens the data, by default with the programs of this build, until the end of the test. */
async function open(programs = programsOf()): Promise<EmbeddedPostgres> {
  const options = { dataDir, role: 'server', log: () => {} } as const;
  const postgres = await openCluster(await prepareCluster(dataDir, programs), options);
  opened.push(postgres);
  return postgres;
}

const openOld = () => open(programsOf(tools));

async function openHarness(databaseUrl: string): Promise<Harness> {
  const harness = await startHarness({ databaseUrl });
  opened.push(harness);
  return harness;
}

async function close(): Promise<void> {
  for (const part of opened.splice(0).reverse()) await part.close();
}

/** All rows, except those about commands and migrations, and all sequences. */
async function contentOf(url: string) {
  const [tables] = await rowsOf(
    url,
    `SELECT string_agg(format('SELECT %L AS name, t::text AS row FROM %s t', oid::regclass, oid::regclass), ' UNION ALL ') AS query
      FROM pg_class WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'graphile_worker'::regnamespace)`,
  );
  const rows = await rowsOf(url, `SELECT * FROM (${String(tables?.['query'])}) AS rows ORDER BY name, row`);
  const sequences = await rowsOf(
    url,
    'SELECT sequencename AS name, last_value AS value FROM pg_sequences ORDER BY name',
  );
  const isOfCommand = (row: Record<string, unknown>): boolean => String(row['row']).includes('upgrade-embedded');
  return {
    rows: rows.filter((row) => !isOfCommand(row)),
    sequences: sequences.filter(({ name }) => !String(name).startsWith('audit_')),
  };
}

(hasTools() ? describe : describe.skip)(`the data of an embedded PostgreSQL ${OLD}`, () => {
  beforeAll(async () => {
    ({ dataDir, remove } = await temporaryDataDir());
    const { url, serviceUrl } = await openOld();
    await migrateDatabase({ ownerUrl: url, url: serviceUrl });
    const harness = await openHarness(serviceUrl);
    partner = await newPartner(harness);
    await completedEncounter(harness, partner);
    lastEncounter = (await newEncounter(harness, partner)).encounter_id;
    await addCheckpoints(harness.domain);
    before = await contentOf(url);
    await close();
  }, 30_000);
  afterEach(close);
  afterAll(() => remove());

  it('are refused at the start by a build with another major version of PostgreSQL, which names the upgrade command', async () => {
    const { code, stderr } = await runProgram(environment(), 'tenant', 'list');
    expect(code).toBe(1);
    expect(stderr).toMatch(`DATA_DIR ${dataDir} contains data of PostgreSQL ${OLD}, but this build has PostgreSQL `);
    expect(stderr).toContain('Run "ces upgrade-embedded"');
  });

  it('are not upgraded while a server runs on them', async () => {
    await openOld();
    const { code, stderr } = await runProgram(environment(), ...UPGRADE);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`in use by server process ${process.pid}`),
    });
  });

  it('stay in the old folder if the upgrade is killed while it copies them', async () => {
    const upgrade = startProcess(environment(), ...UPGRADE);
    while (!existsSync(dataOf('data.new/rows.txt'))) {
      expect(upgrade.exitCode).toBeNull();
      await delay(2);
    }
    upgrade.kill('SIGKILL');
    await once(upgrade, 'exit');
    const old = await openOld();
    expect(await contentOf(old.url)).toEqual(before);
  });

  it('are upgraded with every row and sequence, and the old folder is kept', async () => {
    const result = await runJson(environment(), ...UPGRADE);
    expect(result).toEqual({
      from: OLD,
      to: expect.any(Number),
      kept: dataOf(`data.${OLD}`),
      rows: before.rows.length,
    });
    expect(await majorOfData(result.kept)).toBe(OLD);
    const { url } = await open();
    expect(await contentOf(url)).toEqual(before);
  });

  it('are complete after the upgrade is killed between its two renames and repeated', async () => {
    await rename(dataOf('data'), dataOf('data.new'));
    expect((await runProgram(environment(), 'tenant', 'list')).stderr).toContain('contains an interrupted upgrade');
    expect(await runJson(environment(), ...UPGRADE)).toMatchObject({ from: null, kept: null });
  });

  it('serve requests after the upgrade, and the audit verifies', async () => {
    const { url, serviceUrl } = await open();
    const harness = await openHarness(serviceUrl);
    const token = await newToken(harness, partner);
    const { encounter_id: id } = await newEncounter(harness, { ...partner, token });
    expect(id).toBe(lastEncounter + 1);
    const audited = `SELECT outcome FROM audit_event WHERE operation_id = 'upgrade-embedded'`;
    expect(await rowsOf(url, audited)).toEqual([{ outcome: 'success' }]);
    await addCheckpoints(harness.domain);
    expect(await runJson(environment(), 'audit', 'verify')).toHaveProperty('checkpoints');
  });

  it('are not upgraded a second time', async () => {
    expect((await runProgram(environment(), ...UPGRADE)).stderr).toMatch(
      /^The data are already of PostgreSQL \d+: there is nothing to upgrade\.\n$/,
    );
  });
});
