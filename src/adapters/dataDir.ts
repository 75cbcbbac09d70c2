import { existsSync } from 'node:fs';
import { access, constants, mkdir, readdir, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, messageOf } from '../failures.js';

/** Makes the folder if it is missing. @throws Error naming DATA_DIR when it cannot be made or written to, or is none */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    // Search permission for others when we are root: the embedded PostgreSQL then runs as another user inside it.
    await makeFolder(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
    await readdir(dataDir);
    await access(dataDir, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(`DATA_DIR ${dataDir} cannot be used: ${messageOf(cause)}`, { cause });
  }
}

/** What can still be written to the disk of a folder. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Makes a folder and its parents. Node's own recursive mkdir never returns where nothing can be made, as in /proc. */
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
