import type { Command } from '@commander-js/extra-typings';
import { copyRows } from '../adapters/database/copyRows.js';
import { checkSchema } from '../adapters/database/migrations.js';
import { withClient } from '../adapters/database/withClient.js';
import { migrateDatabase } from '../runtime/serviceDatabase.js';
import type { CliIo } from './cliIo.js';
import { addCommand } from './command.js';
import { databasePlace, recordedOn } from './operator.js';
import { print } from './output.js';

/** Adds `upgrade-embedded` (D-314). */
export function addUpgradeEmbeddedCommand(program: Command, terminal: CliIo): void {
  const description =
    "move the data of the embedded PostgreSQL to this build's major version; stop the servers first. The old data stay " +
    'beside the new ones. If it is interrupted, run it again';
  addCommand(program, 'upgrade-embedded', description, ['--from /opt/ces-1.2'])
    .requiredOption('--from <folder>', 'the previous build, whose packages have PostgreSQL of the old major version')
    .action(async ({ from, json }) => {
      const { databaseUrl, dataDir, log } = databasePlace(terminal);
      if (databaseUrl !== null) throw new Error('DATABASE_URL is set, so that there is no embedded PostgreSQL.');
      // Servers with DATABASE_URL never load the embedded database.
      const { upgradeCluster } = await import('../embedded/upgradeCluster.js');
      const result = await upgradeCluster({
        ...{ dataDir, log, from },
        async fill(previous, next, file) {
          for (const { url: ownerUrl, serviceUrl: url } of [previous, next]) await migrateDatabase({ ownerUrl, url });
          // Migrating leaves a newer schema as it is.
          if ((await checkSchema(previous.url)).state !== 'current') throw new Error('The schema is of a later build.');
          const rows = await copyRows(previous.url, next.url, file);
          await recordedOn(terminal, next.url, async () => undefined);
          await withClient({ connectionString: next.url }, async (client) => {
            await client.query('ANALYZE');
            // Without it, stopping takes as long as writing the rows.
            await client.query('CHECKPOINT');
          });
          return rows;
        },
      });
      const old = result.kept === null ? '' : ` The old data are in ${result.kept}: remove them once a server has run.`;
      print(
        terminal,
        json,
        result,
        `The data are of PostgreSQL ${result.to}. Rows: ${result.rows ?? 'copied before'}.${old}`,
      );
    });
}
