import { existsSync } from 'node:fs';

/**
 * The folder that holds package.json, as a `file:` URL with a final slash: the same whether this module runs from
 * `src/` or, compiled, from `generated/build/src/`. Data files (contract, migrations, docs) are found from here.
 */
export const packageRoot: URL = findPackageRoot(new URL('./', import.meta.url));

function findPackageRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error('package.json not found above ' + import.meta.url);
  return findPackageRoot(parent);
}
