/**
 * Releases: contracts that partners were given, and migrations that databases have. Their files never change. A manifest
 * has their checksums, and a later contract may break a released one only as openapi/allowedChanges.json states.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const RECORDS = 'generated/released';
const MANIFEST = `${RECORDS}/manifest.json`;
const CONTRACT = 'generated/openapi.json';
const ALLOWED = 'openapi/allowedChanges.json';

const PROGRAM = join(import.meta.dirname, '..');
const REDOCLY = join(PROGRAM, 'node_modules/.bin/redocly');

/** A breaking change since a release; `at` is a JSON pointer in the released contract, or else in the present one. */
interface Change {
  readonly release: string;
  readonly rule: string;
  readonly at: string;
}

/** The part of Redocly's report that is read. */
interface Report {
  readonly changes: readonly {
    readonly verdicts: readonly {
      readonly ruleId: string;
      readonly impact: string;
      readonly message: string;
      readonly location: { readonly pointer: string };
    }[];
  }[];
}

const parsed = async <T>(root: string, file: string): Promise<T> => {
  const text = await readFile(join(root, file), 'utf8');
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Error(`${file} is not JSON: correct it, or restore it from Git. ${String(error)}`, { cause: error });
  }
};

/** The SHA-256 of each released file, by its path. */
export const readManifest = (root: string): Promise<Readonly<Record<string, string>>> => parsed(root, MANIFEST);

const checksumOf = async (root: string, file: string): Promise<string | undefined> => {
  const content = await readFile(join(root, file)).catch(() => undefined);
  return content && createHash('sha256').update(content).digest('hex');
};

/** The versions whose contract is in the manifest. */
export async function releasedVersions(root: string): Promise<string[]> {
  const records = Object.keys(await readManifest(root)).filter((file) => file.startsWith(`${RECORDS}/`));
  return records.map((file) => file.slice(RECORDS.length + 1, -'.json'.length));
}

/** States files that were changed or removed after their release, and those in generated/released without a checksum. */
export async function changedFiles(root: string): Promise<string[]> {
  const manifest = await readManifest(root);
  const faults = Object.entries(manifest).map(async ([file, checksum]) => {
    const present = await checksumOf(root, file);
    if (present === undefined) return `${file} was removed after its release: restore it from Git.`;
    return present === checksum ? [] : `${file} was changed after its release: restore the released version from Git.`;
  });
  const records = (await readdir(join(root, RECORDS))).map((name) => `${RECORDS}/${name}`);
  const strays = records.filter((file) => file !== MANIFEST && !(file in manifest));
  return [
    ...(await Promise.all(faults)).flat(),
    ...strays.map(
      (file) => `${MANIFEST} lacks ${file}: if it was released, restore its checksum there; else delete the file.`,
    ),
  ];
}

/** States each breaking change that is not allowed, and each allowed one that the contract does not make. */
export async function breakingChanges(root: string): Promise<string[]> {
  const allowed = await parsed<readonly (Change & { readonly reason: string })[]>(root, ALLOWED);
  const nameOf = ({ release, rule, at }: Change): string => `${release}: ${rule} at ${at}`;
  const changes = new Map<string, string>();
  for (const release of await releasedVersions(root)) {
    const files = [join(root, RECORDS, `${release}.json`), join(root, CONTRACT)];
    const args = ['diff', ...files, '--config', 'openapi/redocly.yaml', '--format', 'json', '--fail-on', 'none'];
    const { stdout } = await promisify(execFile)(REDOCLY, args, { cwd: PROGRAM, maxBuffer: 2 ** 28 });
    const verdicts = (JSON.parse(stdout) as Report).changes.flatMap((change) => change.verdicts);
    for (const { ruleId: rule, impact, message, location } of verdicts)
      if (impact === 'major') changes.set(nameOf({ release, rule, at: location.pointer }), message);
  }
  const names = allowed.map(nameOf);
  return [
    ...[...changes]
      .filter(([name]) => !names.includes(name))
      .map(([name, message]) => `${name}: ${message} Undo this change, or allow it in ${ALLOWED}.`),
    ...names
      .filter((name) => !changes.has(name))
      .map((name) => `${ALLOWED} allows a change that the contract does not make: remove ${name}`),
  ];
}

/** Adds contract and migrations to the released files. @throws Error for a candidate, a released version, changed files */
export async function release(root: string): Promise<string> {
  const { version } = await parsed<{ version: string }>(root, 'package.json');
  const advice =
    'set the version to release in openapi/openapi.yaml and package.json, then where tests/contract/versions.test.ts finds another.';
  if (!/^[\d.]+$/.test(version)) throw new Error(`${version} is a candidate: ${advice}`);
  if ((await releasedVersions(root)).includes(version)) throw new Error(`${version} is released already: ${advice}`);
  const [fault] = await changedFiles(root);
  if (fault !== undefined) throw new Error(fault);

  const record = `${RECORDS}/${version}.json`;
  await writeFile(join(root, record), await readFile(join(root, CONTRACT)));
  const folders = await readdir(join(root, 'prisma/migrations'), { withFileTypes: true });
  const migrations = folders.filter((entry) => entry.isDirectory());
  const files = [record, ...migrations.map(({ name }) => `prisma/migrations/${name}/migration.sql`).sort()];
  const checksums = await Promise.all(files.map(async (file) => [file, await checksumOf(root, file)] as const));
  const added = Object.fromEntries(checksums) as Record<string, string>;
  const manifest = { ...(await readManifest(root)), ...added };
  await writeFile(join(root, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  return version;
}
