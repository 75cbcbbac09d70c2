import { existsSync } from 'node:fs';
import { access, constants, mkdir, readdir, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, messageOf } from '../failures.js';

/** Creates DATA_DIR if necessary. @throws Error naming DATA_DIR if it cannot be created or written to */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    // When started as root, let other users enter the folder: the embedded PostgreSQL in it runs as another user.
    await makeFolder(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
    await readdir(dataDir);
    await access(dataDir, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(`DATA_DIR ${dataDir} cannot be used: ${messageOf(cause)}`, { cause });
  }
}

export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Creates a folder and its parents. Node's recursive mkdir hangs where nothing can be created, as in /proc. */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return;
    const parent = dirname(folder);
    if (errorCode(error) !== 'ENOENT' || existsSync(parent)) throw error;
    await makeFolder(parent, mode);
    await makeFolder(folder, mode);
  }
}
