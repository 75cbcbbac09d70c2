import type { Command } from '@commander-js/extra-typings';
import { clusterFaults } from '../adapters/citus/cluster.js';
import { layOut, placesOf, type PlacedTable } from '../adapters/citus/layout.js';
import { withClient } from '../adapters/database/withClient.js';
import { pendingMigrations } from '../runtime/serviceDatabase.js';
import { addCommand, addGroup, PROGRAM } from './command.js';
import { confirm, marked, previewable } from './confirmation.js';
import { recordedOn, withAnySchema } from './operator.js';
import { print, table } from './output.js';
import type { CliIo } from './cliIo.js';

const NOTES = `
Run it on the coordinator, as the schema's owner (DATABASE_OWNER_URL), after "${PROGRAM} migrate". It checks the
nodes first, and then puts all tables in their places in one transaction. Repeat an interrupted command: it completes the
layout. Stop the servers if the database has rows: their requests would wait for the copy.
With --json: tables with table, place and isPlaced, as they were before the command.`;

/** Adds `citus layout`. */
export function addCitusCommands(program: Command, terminal: CliIo): void {
  const citus = addGroup(program, 'citus', 'a database on several machines');
  const description = 'distribute the tables over the nodes of a Citus cluster, by tenant';
  previewable(addCommand(citus, 'layout', description, ['--dry-run', '--yes'], { notes: NOTES })).action(
    async ({ json, yes, dryRun }) => {
      await withAnySchema(terminal, async ({ ownerUrl, url }, log) => {
        const config = { connectionString: ownerUrl, connectionTimeoutMillis: 5_000 };
        const faults = await withClient(config, (client) => clusterFaults(client, url));
        if ((await pendingMigrations(ownerUrl, log)).length > 0) faults.push(`Run "${PROGRAM} migrate" first.`);
        if (faults.length > 0) throw new Error(faults.join('\n'));
        const tables = await withClient(config, placesOf);
        const missing = tables.filter(({ isPlaced }) => !isPlaced);
        if (!dryRun) {
          if (missing.length > 0)
            await confirm(terminal, `This moves ${missing.length} tables to their places in the cluster.`, yes);
          await withClient(config, layOut);
          await recordedOn(terminal, url, async () => null);
        }
        print(terminal, json, { tables }, `${listOf(tables)}\n${marked(dryRun, told(missing.length, dryRun))}`);
      });
    },
  );
}

const listOf = (tables: readonly PlacedTable[]): string =>
  table(
    ['TABLE', 'PLACE', 'BEFORE'],
    tables.map(({ table: name, place, isPlaced }) => [name, place, isPlaced ? place : 'local']),
  );

const told = (count: number, dryRun: boolean | undefined): string =>
  count === 0 ? 'All tables are in their places.' : `${dryRun ? 'To move' : 'Moved'} to their places: ${count} tables.`;
