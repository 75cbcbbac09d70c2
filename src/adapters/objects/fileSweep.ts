import { opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nullIfMissing } from '../../failures.js';

/** All files below a folder, except hidden ones. Changes made meanwhile may be missed. */
export async function* filesBelow(folder: string): AsyncGenerator<{ path: string; modifiedAt: Date }> {
  const entries = await opendir(folder).catch(nullIfMissing);
  for await (const entry of entries ?? []) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.')) continue;
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) {
      const found = await stat(path).catch(nullIfMissing);
      if (found) yield { path, modifiedAt: found.mtime };
    }
  }
}

/** Removes the files below a folder that were last written before the given time. @returns their number */
export async function removeFilesOlderThan(folder: string, before: Date): Promise<number> {
  let removed = 0;
  for await (const { path, modifiedAt } of filesBelow(folder)) {
    if (modifiedAt >= before) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return removed;
}
