import { existsSync, readFileSync } from 'node:fs';

/** The folder of package.json as a `file:` URL, from `src/` and from `generated/build/src/`. */
export const packageRoot: URL = findPackageRoot(new URL('./', import.meta.url));

/** The name of the service, and the one version of the service and of its contract, including `API-Version` (D-296). */
export const { name, version } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')) as {
  readonly name: string;
  readonly version: string;
};

function findPackageRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) {
    throw new Error(`No package.json above ${import.meta.url}: run the program from its complete folder.`);
  }
  return findPackageRoot(parent);
}
