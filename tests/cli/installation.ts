import { addKnown } from '../../src/domain/access/knownKeys.js';
import { startFakeClamd, type FakeClamd } from '../support/fakeClamd.js';
import { startHarness, type Harness } from '../support/harness.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { runProgram } from './runProgram.js';

interface Finding {
  readonly check: string;
  readonly level: 'ok' | 'warning' | 'failure';
  readonly message: string;
  readonly remedy: string | null;
}

type Environment = Readonly<Record<string, string>>;

/** Ways to break an installation, and to repair it, other than its environment. */
interface Steps {
  readonly options?: readonly string[];
  readonly prepare?: () => Promise<unknown>;
  readonly undo?: () => Promise<unknown>;
}

/** The finding of `doctor` that a broken installation must cause, and what breaks it. */
export type Broken = readonly [
  title: string,
  check: string,
  message: RegExp,
  remedy: RegExp,
  environment: Environment,
  steps?: Steps,
];

/** A good installation for the tests of a file. */
export interface Installation {
  readonly database: TestDatabase;
  readonly harness: Harness;
  readonly clamd: FakeClamd;
  readonly environment: Environment;
  close(): Promise<void>;
}

export async function openInstallation(): Promise<Installation> {
  const database = await createTestDatabase();
  const [harness, clamd] = await Promise.all([startHarness({ databaseUrl: database.serviceUrl }), startFakeClamd()]);
  await addKnown(harness.services, await harness.services.keys.current());
  const environment = {
    DATABASE_URL: database.serviceUrl,
    DATA_DIR: harness.dataDir,
    BASE_URL: harness.baseUrl,
    DOCUMENT_SCANNER: 'clamav',
    CLAMAV_ADDRESS: clamd.setting,
  };
  const close = async (): Promise<void> => {
    await Promise.all([harness.close(), clamd.close()]);
    await database.drop();
  };
  return { database, harness, clamd, environment, close };
}

/** Runs `doctor --json` on an installation with these changes. */
export async function examine(
  { environment }: Pick<Installation, 'environment'>,
  change: Environment = {},
  options: readonly string[] = [],
) {
  const { code, stdout, stderr } = await runProgram({ ...environment, ...change }, 'doctor', '--json', ...options);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings, faults: findings.filter(({ level }) => level !== 'ok'), printed: stdout + stderr };
}

/** Expects that `doctor` finds this fault with its remedy, none by another check, and prints no secret (`4711`). */
export async function expectFound(installation: Installation, level: Finding['level'], broken: Broken): Promise<void> {
  const [, check, message, remedy, environment, { options, prepare, undo } = {}] = broken;
  await prepare?.();
  const examined = async () => {
    try {
      return await examine(installation, environment, options);
    } finally {
      await undo?.();
    }
  };
  const { code, faults, printed } = await examined();
  expect(new Set(faults.map((fault) => fault.check))).toEqual(new Set([check]));
  const text = (pattern: RegExp): unknown => expect.stringMatching(pattern);
  expect(faults).toContainEqual({ check, level, message: text(message), remedy: text(remedy) });
  expect(code).toBe(level === 'failure' ? 1 : 0);
  expect(printed).not.toContain('4711');
}
