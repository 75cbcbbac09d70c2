/** The licenses of the packages that `npm ci --omit=dev` installs (the same packages as in `make sbom`). */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  /** Set for the folder tests, which has packages of its own. */
  readonly link?: boolean;
  /** Set for packages that only tools for development, or optional packages, need. */
  readonly devOptional?: boolean;
}

/** The part of package-lock.json that is read here. */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Permissive licenses, which demand no more than a notice. */
const allowed = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
];

/** Licenses that a person accepted for one version: package-lock.json lacks them, or they are not on the list. */
const reviewed: Readonly<Record<string, string>> = {
  'dejavu-fonts-ttf@2.37.3': 'Bitstream-Vera',
  'png-js@2.0.0': 'MIT',
};

/** The locked packages, by path, without those for development alone. */
export const runningPackages = ({ packages }: LockFile): [string, LockedPackage][] =>
  Object.entries(packages).filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link);

/** The license of each package, if known as an SPDX expression, by name@version. */
export function licensesOf(lockFile: LockFile): Map<string, string> {
  const licenses = runningPackages(lockFile).map(([path, { version, license }]) => {
    const name = `${path.split('node_modules/').at(-1)}@${version}`;
    return [name, reviewed[name] ?? license ?? 'unknown'] as const;
  });
  return new Map(licenses.sort(([one], [other]) => one.localeCompare(other)));
}

/** The packages whose license is neither reviewed nor on the list; of alternative licenses, one on the list suffices. */
export function licenseFaults(lockFile: LockFile): string[] {
  const isAllowed = (license: string): boolean =>
    license
      .replace(/^\((.*)\)$/, '$1')
      .split(' OR ')
      .some((alternative) => allowed.includes(alternative));
  return [...licensesOf(lockFile)]
    .filter(([name, license]) => !(name in reviewed) && !isAllowed(license))
    .map(
      ([name, license]) =>
        `${name}: the license ${license} is not accepted: review it and add this version to "reviewed" in scripts/licenses.ts, or remove this package`,
    );
}

/** Reads the lock file of this repository. */
export async function readLockFile(): Promise<LockFile> {
  return JSON.parse(await readFile(new URL('../package-lock.json', import.meta.url), 'utf8')) as LockFile;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, license] of licensesOf(await readLockFile())) process.stdout.write(`${license}\t${name}\n`);
}
