import { hostname } from 'node:os';
import type { Queries } from '../adapters/database/statements.js';
import { localUrl, type Config } from '../config.js';

/** Records CELL as the name of this database (ADR 9). @throws Error if the database belongs to another cell */
export async function registerCell({ everyTenant }: Queries, config: Config): Promise<void> {
  const { cell, cellUrl, baseUrl } = config;
  const [own] = await everyTenant.rows<{ name: string }>`SELECT name FROM cell WHERE is_own`;
  if (own && own.name !== cell) {
    throw new Error(`This is the database of the cell ${own.name}: set CELL=${own.name}.`);
  }
  if (cell === null) return;
  await everyTenant.run`
    INSERT INTO cell (name, url, object_store, is_own) VALUES (${cell}, ${cellUrl ?? baseUrl ?? localUrl(config)}, ${nameOfStore(config)}, true)
    ON CONFLICT (name) DO UPDATE SET url = excluded.url, object_store = excluded.object_store, is_own = true`;
}

/** A text that names the store of documents; equal for servers that share their documents. */
export function nameOfStore({ objectStore, dataDir }: Config): string {
  return objectStore.kind === 's3' ? `${objectStore.endpoint} ${objectStore.bucket}` : `file://${hostname()}${dataDir}`;
}
