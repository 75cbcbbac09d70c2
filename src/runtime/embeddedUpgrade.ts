import { copyRows } from '../adapters/database/copyRows.js';
import { checkSchema } from '../adapters/database/migrations.js';
import { withClient } from '../adapters/database/withClient.js';
import { migrateDatabase } from './serviceDatabase.js';

interface EmbeddedUpgrade {
  readonly dataDir: string;
  readonly log: (message: string) => void;
  /** A build whose packages have PostgreSQL of the data's major version. */
  readonly from: string;
  /** Called with the address of the new database once it has all rows. */
  record(url: string): Promise<void>;
}

/**
 * Moves the data of the embedded PostgreSQL to this build's major version.
 * @returns the result of `upgradeCluster`. @throws Error while a server uses the data, or if its schema comes from a later build
 */
export async function upgradeEmbedded({ record, ...options }: EmbeddedUpgrade) {
  // Import it only here: servers with DATABASE_URL never need the embedded database.
  const { upgradeCluster } = await import('../embedded/upgradeCluster.js');
  return upgradeCluster({
    ...options,
    async fill(previous, next, file) {
      for (const { url: ownerUrl, serviceUrl: url } of [previous, next]) await migrateDatabase({ ownerUrl, url });
      // The migration above leaves a later build's schema unchanged, so check for one.
      if ((await checkSchema(previous.url)).state !== 'current')
        throw new Error('The schema comes from a later build. Use that build for the upgrade.');
      const rows = await copyRows(previous.url, next.url, file);
      await record(next.url);
      await withClient({ connectionString: next.url }, async (client) => {
        await client.query('ANALYZE');
        // Write all pages to disk now: without a checkpoint, stopping PostgreSQL would take as long as the copy.
        await client.query('CHECKPOINT');
      });
      return rows;
    },
  });
}
