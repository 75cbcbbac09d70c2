import type { DomainContext, Services } from '../../context.js';
import { UUID } from '../transactions/uuid.js';

/** Milliseconds: far longer than an upload takes, and than clocks differ. */
const SAFE_AGE_MS = 24 * 60 * 60 * 1000;
/** Keys that are looked up by one statement. */
const BATCH = 1000;

/** What `blobPath` makes, or made when keys ended in a file name. Anything else in the store is somebody else's. */
const keyPattern = new RegExp(`^[^/]+/clients/${UUID}/[a-z-]+/${UUID}(/[^/]+)?$`);

/**
 * Removes what uploads left that were cut off: objects without a row of any tenant, and parts of objects. Left alone is
 * what is younger than the safe age, because its upload may be under way, keys that are not ours, and those of tenants
 * that this database does not know. It may run several times at once.
 * @param safeAge milliseconds since an object was stored; less than the default only when nothing is being uploaded
 * @returns how many objects no row named, and how many uploads never ended
 * @throws Problem dependency_unavailable when the store fails; the signal's reason when it aborts
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

/** Over all tenants: any row that names the key protects the object. */
async function withoutRow({ db }: DomainContext, keys: readonly string[]): Promise<string[]> {
  const rows = await db.everyTenant.rows<{ key: string }>`
    SELECT key FROM unnest(${keys}::text[]) AS listed (key)
    WHERE EXISTS (SELECT FROM tenant WHERE tenant.id = split_part(key, '/', 1))
      AND NOT EXISTS (SELECT FROM document WHERE document.blob_path = key)`;
  return rows.map(({ key }) => key);
}
