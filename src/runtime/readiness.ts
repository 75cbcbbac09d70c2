import { freeBytes } from '../adapters/dataDir.js';
import { openDatabaseProbe } from '../adapters/database/databaseProbe.js';
import { endsWithin } from '../adapters/endsWithin.js';
import type { Config } from '../config.js';
import type { Parts, Services } from '../context.js';
import { sharedFor } from './sharedFor.js';

/** Timeout for the database in milliseconds; load balancers treat a slower database as down. */
const DATABASE_TIMEOUT_MS = 2_000;
/** Milliseconds; few, because parts that only uploads need must not delay the response beyond the probe's limit. */
const UPLOAD_PART_TIMEOUT_MS = 500;
const CACHE_MS = 1_000;

/** Creates the check of all parts, which runs only once per second regardless of the number of probes. */
export function partsCheck(
  databaseUrl: string,
  { objects, scanner, config }: Pick<Services, 'objects' | 'scanner' | 'config'>,
): () => Promise<Parts> {
  const askDatabase = openDatabaseProbe(databaseUrl, DATABASE_TIMEOUT_MS);
  const ask = async (): Promise<Parts> => {
    const [database, objectStore, documentScanner, disk] = await Promise.all([
      answers(askDatabase(), DATABASE_TIMEOUT_MS),
      answers(objects.check(), UPLOAD_PART_TIMEOUT_MS),
      config.documentScanner.kind === 'none' ? null : answers(scanner.check(), UPLOAD_PART_TIMEOUT_MS),
      usesDisk(config) ? answers(checkSpace(config), UPLOAD_PART_TIMEOUT_MS) : null,
    ]);
    return { database, objectStore, documentScanner, disk };
  };
  return sharedFor(CACHE_MS, ask);
}

/** Whether rows or documents are stored in DATA_DIR. */
export const usesDisk = ({ databaseUrl, objectStore }: Config): boolean =>
  databaseUrl === null || objectStore.kind === 'file';

async function checkSpace({ dataDir, minFreeDisk }: Config): Promise<void> {
  if ((await freeBytes(dataDir)) < minFreeDisk) throw new Error('less than MIN_FREE_DISK is free');
}

const answers = (check: Promise<unknown>, timeoutMs: number): Promise<boolean> =>
  endsWithin(timeoutMs, check).catch(() => false);
