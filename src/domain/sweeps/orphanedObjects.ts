import type { DomainContext, Services } from '../../context.js';
import { UUID } from '../transactions/uuid.js';

/** Milliseconds after which no upload can still be running, even if clocks differ by hours. */
const SAFE_AGE_MS = 24 * 60 * 60 * 1000;
/** Maximum of keys that one statement looks up. */
const BATCH = 1000;

/** Matches keys of `blobPath`, and older ones that end in a file name. Other objects in the store are not ours. */
const keyPattern = new RegExp(`^[^/]+/clients/${UUID}/[a-z-]+/${UUID}(/[^/]+)?$`);

/**
 * Removes objects without a row, which interrupted uploads and erasures leave, and unfinished objects. Keeps objects
 * younger than the safe age, whose upload may be running, and keys of unknown form or tenants. Safe to run concurrently.
 * @returns the numbers of removed objects and removed unfinished objects
 * @throws Problem dependency_unavailable if the store fails; the signal's reason if it aborts
 */
export async function removeOrphanedObjects(
  context: DomainContext & Pick<Services, 'objects'>,
  { safeAge = SAFE_AGE_MS, signal }: { readonly safeAge?: number; readonly signal?: AbortSignal } = {},
) {
  const before = new Date(context.now().getTime() - safeAge);
  let removed = 0;
  for await (const keys of batches(olderKeys(context, before))) {
    signal?.throwIfAborted();
    for (const key of await withoutRow(context, keys)) {
      await context.objects.remove(key);
      removed += 1;
    }
  }
  return { objects: removed, unfinished: await context.objects.removeUnfinished(before) };
}

async function* olderKeys({ objects }: Pick<Services, 'objects'>, before: Date): AsyncGenerator<string> {
  for await (const { key, modifiedAt } of objects.list()) {
    if (modifiedAt < before && keyPattern.test(key)) yield key;
  }
}

async function* batches(keys: AsyncIterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const key of keys) {
    if (batch.push(key) < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** The keys without a row. Searches all tenants, because any row that names a key protects its object. */
async function withoutRow({ db }: DomainContext, keys: readonly string[]): Promise<string[]> {
  const tenantOf = (key: string): string => key.split('/')[0] ?? '';
  const rows = await db.everyTenant.rows<{ name: string }>`
    SELECT blob_path AS name FROM document WHERE blob_path = ANY (${keys}::text[])
    UNION ALL SELECT id FROM tenant WHERE id = ANY (${[...new Set(keys.map(tenantOf))]}::text[])`;
  // One set holds keys and tenants: only keys have a slash. Keep the keys of unknown tenants.
  const found = new Set(rows.map(({ name }) => name));
  return keys.filter((key) => !found.has(key) && found.has(tenantOf(key)));
}
