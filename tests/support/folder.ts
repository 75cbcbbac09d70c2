import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a folder before the tests of a file and removes it after them; returns the paths in it, by default its own. */
export function temporaryFolder(): (...names: readonly string[]) => string {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ces-folder-'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  return (...names) => join(folder, ...names);
}
