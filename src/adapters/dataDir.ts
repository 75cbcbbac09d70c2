import { access, constants, mkdir, readdir, statfs } from 'node:fs/promises';
import { messageOf } from '../failures.js';

/** Creates DATA_DIR if necessary. @throws Error naming DATA_DIR if it cannot be created, read or written to */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    // When started as root, let other users enter the folder: the embedded PostgreSQL in it runs as another user.
    await mkdir(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    await readdir(dataDir);
    await access(dataDir, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(
      `DATA_DIR ${dataDir} cannot be used: ${messageOf(cause)}. Make it a folder that the user of the service can read and write, or set another one, which begins without the data of this one.`,
      { cause },
    );
  }
}

/** Creates a folder of DATA_DIR, for its owner only. @throws Error that says what to do */
export async function makeFolderOfDataDir(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new Error(
      `A folder of DATA_DIR cannot be created: ${messageOf(cause)}. Correct that, so that the user of the service can create it.`,
      { cause },
    );
  });
}

export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
