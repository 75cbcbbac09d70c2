import { createHash, randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { openBackupStore, type BackupStore } from '../../src/cli/backup/backupStore.js';
import type { CliIo } from '../../src/cli/cliIo.js';
import { keepOf, keptTimes } from '../../src/cli/backup/keep.js';
import {
  bodyOf,
  each,
  objectFile,
  readManifest,
  readManifestOf,
  writeManifest,
  type Manifest,
} from '../../src/cli/backup/manifest.js';

const KEEP = keepOf('7d,4w,6m');

/** A backup store in memory. */
function memoryStore() {
  const files = new Map<string, string>();
  const store = {
    folder: 'memory',
    screen: null,
    async write(file: string, body: AsyncIterable<Uint8Array>) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      files.set(file, Buffer.concat(chunks).toString());
      return '';
    },
    read: (file: string) => bodyOf(files.get(file) ?? ''),
    remove: async (file: string) => void files.delete(file),
    list: async () => new Set(files.keys()),
    removeUnfinished: async () => 0,
  } satisfies BackupStore;
  return { files, store };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
/** A backup with its own dump, a document that all backups share, and one that the backups of its month share. */
function backupOf(takenAt: string): Manifest {
  const objects = ['all', takenAt.slice(0, 7)].map((key) => ({ key, contentType: '', sha256: sha256(key) }));
  const dump = { file: `database-${randomUUID()}.dump`, sha256: sha256(takenAt) };
  return {
    ...{ format: 1, version: '1.0.0', database: 'x', takenAt, postgres: { server: 17, program: 17 } },
    ...{ migrations: [], rows: {}, missing: [], keys: null, dump, objects },
  };
}

async function backUpAt(store: BackupStore, day: number, keep = KEEP): Promise<string> {
  const takenAt = new Date(Date.UTC(2026, 0, 1 + day, 2)).toISOString();
  const manifest = backupOf(takenAt);
  for (const file of [manifest.dump.file, ...manifest.objects.map((each) => objectFile(each.sha256))]) {
    await store.write(file, bodyOf(file));
  }
  await writeManifest(store, manifest, keep);
  return takenAt;
}

const keptIn = (files: ReadonlyMap<string, string>): string[] =>
  [...files]
    .flatMap(([name, text]) => (name.startsWith('manifest-') ? (JSON.parse(text) as Manifest).takenAt : []))
    .sort();

it('backup create --keep keeps the backups of its rule through a year, and deletes the files of all others', async () => {
  const { files, store } = memoryStore();
  const all: string[] = [];
  for (let day = 0; day < 365; day += 1) {
    all.push(await backUpAt(store, day));
    expect(keptIn(files)).toEqual([...keptTimes(all, KEEP)].sort());
  }
  const days = [
    '07-31',
    '08-31',
    '09-30',
    '10-31',
    '11-30',
    '12-13',
    '12-20',
    ...[25, 26, 27, 28, 29, 30, 31].map((day) => `12-${day}`),
  ];
  expect(keptIn(files)).toEqual(days.map((day) => `2026-${day}T02:00:00.000Z`));
  const named = new Set<string>(['manifest.json']);
  for (const takenAt of keptIn(files)) {
    const { dump, objects } = await readManifestOf(store, new Date(takenAt));
    for (const file of [dump.file, ...objects.map((each) => objectFile(each.sha256))]) named.add(file);
  }
  expect(new Set([...files.keys()].filter((name) => !name.startsWith('manifest-')))).toEqual(named);
});

it('backup create --keep counts days with backups, so that old ones outlast a pause; without --keep, it removes none', async () => {
  const { files, store } = memoryStore();
  for (const day of [0, 1, 2, 100]) await backUpAt(store, day);
  const kept = keptIn(files);
  expect(kept).toHaveLength(4);
  await writeManifest(store, backupOf('2026-06-01T00:00:00.000Z'));
  expect(keptIn(files)).toEqual(kept);
  expect((await readManifest(store)).takenAt).toBe('2026-06-01T00:00:00.000Z');
  expect((await readManifestOf(store, new Date('2026-01-03'))).takenAt).toBe('2026-01-02T02:00:00.000Z');
  await expect(readManifestOf(store, new Date('2025-12-31'))).rejects.toThrow('keeps no backup up to');
});

it('backup create --keep keeps a damaged manifest and all files that it may name, and removes other backups by its rule', async () => {
  const { files, store } = memoryStore();
  const backUp = (day: number) => backUpAt(store, day, keepOf('2d'));
  const nameOf = (takenAt: string) => `manifest-${takenAt.replaceAll(':', '.')}.json`;
  const old = await backUp(29);
  const oldDump = (await readManifest(store)).dump.file;
  const damaged = nameOf(await backUp(30));
  files.set(damaged, '{');
  await backUp(31);
  const before = new Set(files.keys());
  expect(before).toContain(nameOf(old));
  const last = backupOf('2026-02-02T02:00:00.000Z');
  expect(await writeManifest(store, last, keepOf('2d'))).toEqual([damaged]);
  const removed = [...before].filter((name) => !files.has(name));
  expect(removed.sort()).toEqual([oldDump, nameOf(old)].sort());
});

it.each(['', '7', '0d', '7d,', '7d 4w', '7y', '1000d'])('backup create refuses --keep %j', (text) => {
  expect(() => keepOf(text)).toThrow('such as 7d,4w,6m');
});

it('work on the files of a backup shows its progress on a terminal', async () => {
  const screen = Object.assign(new PassThrough(), { isTTY: true, columns: 80 }) as unknown as NodeJS.WriteStream;
  await each({ ...memoryStore().store, screen }, ['a', 'b', 'c'], async () => undefined);
  expect(String(screen.read())).toContain('100 % (3 of 3 files)');
});

it('backup create refuses a URL, which would become the name of a local folder', async () => {
  await expect(openBackupStore({} as CliIo, 's3://backups/ces', true)).rejects.toThrow('s3://backups/ces is a URL.');
});
