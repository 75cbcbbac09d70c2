import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a folder and removes it after the tests; returns a function for paths in it, by default its own path. */
export function temporaryFolder(): (...names: readonly string[]) => string {
  const folder = mkdtempSync(join(tmpdir(), 'ces-folder-'));
  afterAll(() => rm(folder, { recursive: true }));
  return (...names) => join(folder, ...names);
}
