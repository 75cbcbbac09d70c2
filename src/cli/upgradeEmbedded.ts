import type { Command } from '@commander-js/extra-typings';
import { upgradeEmbedded } from '../runtime/embeddedUpgrade.js';
import type { CliIo } from './cliIo.js';
import { addCommand } from './command.js';
import { databasePlace, recordedOn } from './operator.js';
import { print } from './output.js';

/** Adds the command `upgrade-embedded`. */
export function addUpgradeEmbeddedCommand(program: Command, terminal: CliIo): void {
  const description =
    "move the data of the embedded PostgreSQL to this build's major version; stop the servers first. The old data stay " +
    'beside the new ones. If it is interrupted, run it again';
  addCommand(program, 'upgrade-embedded', description, ['--from /opt/ces-1.2'])
    .requiredOption('--from <folder>', 'the previous build, whose packages have PostgreSQL of the old major version')
    .action(async ({ from, json }) => {
      const { databaseUrl, dataDir, log } = databasePlace(terminal);
      if (databaseUrl !== null) throw new Error('DATABASE_URL is set, so there is no embedded PostgreSQL to upgrade.');
      const record = (url: string): Promise<void> => recordedOn(terminal, url, async () => undefined);
      const result = await upgradeEmbedded({ dataDir, log, from, record });
      const old = result.kept === null ? '' : ` The old data are in ${result.kept}: remove them once a server has run.`;
      print(
        terminal,
        json,
        result,
        `The data are of PostgreSQL ${result.to}. Rows: ${result.rows ?? 'copied before'}.${old}`,
      );
    });
}
