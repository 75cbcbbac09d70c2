import { existsSync } from 'node:fs';

/** The folder of package.json as a `file:` URL, from `src/` and from `generated/build/src/`. */
export const packageRoot: URL = findPackageRoot(new URL('./', import.meta.url));

function findPackageRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error('package.json not found above ' + import.meta.url);
  return findPackageRoot(parent);
}
