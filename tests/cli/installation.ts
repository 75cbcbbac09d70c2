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

/** A way to break an installation, and to repair it. */
export interface Damage {
  readonly environment?: Readonly<Record<string, string>>;
  readonly options?: readonly string[];
  readonly prepare?: () => Promise<unknown>;
  readonly undo?: () => Promise<unknown>;
}

/** A broken installation, and the finding of `doctor` that it must cause. */
export type Broken = readonly [
  title: string,
  check: string,
  level: Finding['level'],
  message: RegExp,
  remedy: RegExp,
  damage: Damage,
];

/** A good installation for the tests of a file. */
export interface Installation {
  readonly database: TestDatabase;
  readonly harness: Harness;
  readonly clamd: FakeClamd;
  readonly environment: Readonly<Record<string, string>>;
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
  change: Damage['environment'] = {},
  options: readonly string[] = [],
) {
  const { code, stdout, stderr } = await runProgram({ ...environment, ...change }, 'doctor', '--json', ...options);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings, faults: findings.filter(({ level }) => level !== 'ok'), printed: stdout + stderr };
}

/** Expects that `doctor` finds this fault with its remedy, no other fault, and prints no secret (`4711`). */
export async function expectFound(installation: Installation, broken: Broken): Promise<void> {
  const [, check, level, message, remedy, { environment, options, prepare, undo }] = broken;
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
