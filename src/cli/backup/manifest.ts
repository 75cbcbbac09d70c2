import { Ajv } from 'ajv';
import type { FromSchema } from 'json-schema-to-ts';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { progressBar } from '../output.js';
import type { BackupStore } from './backupStore.js';
import { keptTimes, type Keep } from './keep.js';

const MANIFEST = 'manifest.json';
const UUID = '[\\da-f]{8}(-[\\da-f]{4}){3}-[\\da-f]{12}';
/** The file name of a kept manifest: the time of its backup, without characters that folders may refuse. */
const dated = (takenAt: string): string => `manifest-${takenAt.replaceAll(':', '.')}.json`;
const DATED = /^manifest-(\d{4}-\d\d-\d\dT\d\d)\.(\d\d)\.(\d\d\.\d{3}Z)\.json$/;
/** The names of this program's files, except manifests; files with other names are left alone. */
const OWN = new RegExp(`^(database-${UUID}\\.dump|keys-${UUID}\\.json|objects/[\\da-f]{64})$`);
/** Maximum number of files that {@link each} works on at the same time. */
const CONCURRENCY = 8;

const text = { type: 'string' } as const;
const digest = { type: 'string', pattern: '^[\\da-f]{64}$' } as const;
const texts = { type: 'array', items: text } as const;
const members = <const Needed extends object, const Optional extends object = object>(
  needed: Needed,
  optional?: Optional,
) =>
  ({
    type: 'object',
    required: Object.keys(needed) as (keyof Needed & string)[],
    properties: { ...needed, ...(optional as Optional) },
  }) as const;
const fileOf = (name: string) => members({ file: { type: 'string', pattern: `^${name}$` }, sha256: digest });

/** The schema of `manifest.json`. Its patterns keep an untrusted export from naming files outside its folder. */
const schema = members(
  {
    format: { const: 1 },
    /** When the backup was taken, by the database's clock. */
    takenAt: text,
    /** The version of the service that made the backup. */
    version: text,
    /** Major versions of the server and of the program that dumped it. */
    postgres: members({ server: { type: 'integer' }, program: { type: 'integer' } }),
    /** The identity of the database, so that a backup replaces only earlier ones of the same database. */
    database: text,
    migrations: texts,
    dump: fileOf(`database-${UUID}\\.dump`),
    /** The number of rows by table. */
    rows: { type: 'object', additionalProperties: { type: 'integer' } },
    /** The stored objects; the file of each is in `objects/`, named by its SHA-256 in hex. */
    objects: { type: 'array', items: members({ key: text, contentType: text, sha256: digest }) },
    /** Keys of objects that the dump names, but that the object store lacked or had damaged. */
    missing: texts,
    /** The file with the encrypted keys; null = the backup has none. */
    keys: { ...fileOf(`keys-${UUID}\\.json`), type: ['object', 'null'] },
  },
  {
    /** The exported tenant, and the name of its object store; absent in a backup of the whole database. */
    tenant: { type: 'string', pattern: '^[a-z\\d-]{1,63}$' },
    objectStore: text,
  },
);

export type Manifest = FromSchema<typeof schema>;
export type BackedUpObject = Manifest['objects'][number];

const isManifest = new Ajv({ allowUnionTypes: true }).compile<Manifest>(schema);

export const objectFile = (sha256: string): string => `objects/${sha256}`;

/** Reads a manifest. @returns null if it is missing @throws Error if it is unreadable, or invalid in this version */
async function findManifest(store: BackupStore, name = MANIFEST): Promise<Manifest | null> {
  const manifest: unknown = await json(store.read(name)).catch(async (error: unknown) => {
    if (error instanceof SyntaxError) return undefined;
    if ((await store.list()).has(name)) throw error;
    return null;
  });
  if (manifest === null || isManifest(manifest)) return manifest;
  throw new Error(
    `${name} in ${store.folder} is damaged, or of another build or program. Use that build, another copy of the folder (to read) or a new folder (to write).`,
  );
}

/** Reads the manifest. @throws Error if there is no backup (or export of a tenant, if `isOfTenant`) of this format */
export async function readManifest(store: BackupStore, isOfTenant = false): Promise<Manifest> {
  const manifest = await findManifest(store);
  if (manifest && (manifest.tenant !== undefined) === isOfTenant) return manifest;
  throw new Error(
    `${store.folder} contains no ${isOfTenant ? 'export of a tenant' : 'backup'} that is complete. Correct --from, or ${isOfTenant ? 'export the tenant' : 'make the backup'} again.`,
  );
}

/** Reads the manifest of the last kept backup at or before a time. @throws Error if there is none, or it is invalid */
export async function readManifestOf(store: BackupStore, until: Date): Promise<Manifest> {
  const last = datesOf(await store.list()).findLast((time) => new Date(time) <= until);
  const manifest = last === undefined ? null : await findManifest(store, dated(last));
  if (manifest) return manifest;
  const missing = `${store.folder} keeps no backup up to ${until.toISOString()}`;
  throw new Error(
    `${missing}. Correct --from, choose a later --at, or omit it: only backups made with --keep are kept.`,
  );
}

/** The times of the kept backups, in order. */
function datesOf(files: Iterable<string>): string[] {
  return [...files].flatMap((file) => DATED.exec(file)?.slice(1).join(':') ?? []).sort();
}

/** Protects another database's backup from replacement. @throws Error if the folder has one, or an invalid manifest */
export async function assertBackupOf(store: BackupStore, database: string): Promise<void> {
  const found = await findManifest(store);
  if (!found || found.database === database) return;
  throw new Error(
    `${store.folder} has the backup or export of another database or tenant, taken at ${found.takenAt}. Use another folder.`,
  );
}

/**
 * Completes a backup: replaces the manifest, then removes files that no manifest names any longer.
 * @param keep which backups to keep; undefined = all that `--keep` kept, and this one only until the next backup
 * @returns the names of unreadable manifests; they stay, and so does every file that they may name
 */
export async function writeManifest(store: BackupStore, manifest: Manifest, keep?: Keep): Promise<string[]> {
  if (keep) await store.write(dated(manifest.takenAt), bodyOf(JSON.stringify(manifest, null, 1)));
  await store.write(MANIFEST, bodyOf(JSON.stringify(manifest, null, 1)));
  const files = await store.list();
  const dumps = new Map<string, string>();
  const unreadable: string[] = [];
  for (const date of datesOf(files)) {
    const found = await findManifest(store, dated(date)).catch(() => null);
    if (found) dumps.set(date, found.dump.file);
    else unreadable.push(dated(date));
  }
  const dates = [...dumps.keys()];
  const kept = keep ? keptTimes(dates, keep) : new Set(dates);
  const named = new Set(filesOf(manifest).map(({ file }) => file));
  for (const date of dates) {
    if (!kept.has(date)) await store.remove(dated(date));
    else for (const { file } of filesOf(await readManifestOf(store, new Date(date)))) named.add(file);
  }
  // Unlike documents, a dump belongs to one backup, so an unreadable manifest cannot name that of a removed backup.
  const removable = unreadable.length === 0 ? files : dates.flatMap((date) => dumps.get(date) ?? []);
  for (const file of removable) {
    if (OWN.test(file) && !named.has(file)) await store.remove(file);
  }
  await store.removeUnfinished(new Date(manifest.takenAt));
  return unreadable;
}

export async function* bodyOf(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

/** The digest of a body. */
export async function digestOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of body) hash.update(chunk);
  return hash.digest('hex');
}

/** All files of a backup except the manifest. */
function filesOf({ dump, keys, objects }: Manifest): { file: string; sha256: string }[] {
  const digests = [...new Set(objects.map(({ sha256 }) => sha256))];
  return [dump, ...(keys ? [keys] : []), ...digests.map((sha256) => ({ file: objectFile(sha256), sha256 }))];
}

/** Compares the files of a backup with their digests. @throws Error naming those that are missing or damaged */
export async function verifyFiles(store: BackupStore, manifest: Manifest): Promise<void> {
  const present = await store.list();
  const wrong: string[] = [];
  await each(store, filesOf(manifest), async ({ file, sha256 }) => {
    if (!present.has(file)) wrong.push(`${file} is missing.`);
    else if ((await digestOf(store.read(file))) !== sha256) wrong.push(`${file} is damaged.`);
  });
  if (wrong.length === 0) return;
  const again =
    manifest.tenant === undefined
      ? 'make the backup again, or choose another kept one (--at)'
      : 'export the tenant again';
  throw new Error(`In ${store.folder}: ${wrong.join(' ')} Use another copy of the folder, or ${again}.`);
}

/** @throws Error naming the objects that a backup or an export lacks */
export function assertComplete(what: 'backup' | 'export', missing: readonly string[]): void {
  if (missing.length === 0) return;
  throw new Error(
    `The ${what} lacks only documents that the object store did not deliver undamaged: ${missing.join(', ')}. ` +
      'Repeat the command, with the OBJECT_STORE, S3_… or DATA_DIR of the servers. If it fails again, restore these documents from older versions of the bucket or an earlier backup, and repeat it.',
  );
}

/** Works on several files of a backup at a time, and shows the progress. After a failure, it begins no further one. */
export async function each<T>({ screen }: BackupStore, files: readonly T[], work: (file: T) => Promise<unknown>) {
  const bar = progressBar(screen, 'files');
  let done = 0;
  const one = (file: T) => work(file).then(() => bar.progress((done += 1), files.length));
  await Readable.from(files).forEach(one, { concurrency: CONCURRENCY }).finally(bar.stop);
}
