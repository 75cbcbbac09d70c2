import { spawnSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A small separate disk, which a test may fill. */
export interface SmallDisk {
  readonly path: string;
  /** Fills it to its last page. */
  fill(): Promise<void>;
  free(): Promise<void>;
  remove(): Promise<void>;
}

/** Mounts a disk in memory; undefined without the right to mount. */
export async function mountDisk(megabytes: number): Promise<SmallDisk | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'ces-disk-'));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path]).status !== 0) {
    await rm(path, { recursive: true });
    return undefined;
  }
  const filler = join(path, 'filler');
  return {
    path,
    async fill() {
      const file = await open(filler, 'w');
      for (const size of [1_048_576, 4_096]) {
        const chunk = Buffer.alloc(size);
        const written = () => file.write(chunk).catch(() => ({ bytesWritten: 0 }));
        while ((await written()).bytesWritten > 0);
      }
      await file.close();
    },
    free: () => rm(filler),
    async remove() {
      spawnSync('umount', ['--lazy', path]);
      await rm(path, { recursive: true });
    },
  };
}
