import type { Command } from '@commander-js/extra-typings';
import { rotateSigningKeys } from '../adapters/tokens/signingKeys.js';
import { readConfig } from '../config.js';
import { withDatabase } from './operator.js';
import { example, print } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds `keys rotate`. */
export function addKeyCommands(program: Command, terminal: CliIo): void {
  const keys = program.command('keys').description('the keys that sign tokens').helpCommand(false);

  keys
    .command('rotate')
    .description('sign tokens with a new key; tokens of the previous key stay valid')
    .option('--force', 'even if tokens of the dropped key are still valid')
    .option('--json', 'print JSON')
    .addHelpText('after', example('keys rotate'))
    .action(async ({ force, json }) => {
      const { signingKeysFile, accessTokenTtl, refreshTokenTtl } = readConfig(terminal.environment);
      const retireAfter = Math.max(accessTokenTtl, refreshTokenTtl);
      // The database records the audit and provides the time.
      const { kid, retired } = await withDatabase(terminal, ({ now, newId }) =>
        rotateSigningKeys(signingKeysFile, { now: now(), newId, retireAfter, force: force ?? false }),
      );
      const told = `New tokens are signed with the key ${kid} (${signingKeysFile}); running servers follow at once.`;
      const dropped = retired.length > 0 ? `\nDropped: ${retired.join(', ')}` : '';
      print(terminal, json, { kid, retired }, () => told + dropped);
    });
}
