import type { Command } from '@commander-js/extra-typings';
import { rotateSigningKeys } from '../adapters/tokens/signingKeys.js';
import { addKnown } from '../domain/access/knownKeys.js';
import { readConfig } from '../config.js';
import { causeOf, errorCode, messageOf } from '../failures.js';
import { addCommand, addGroup, PROGRAM } from './command.js';
import { withDatabase } from './operator.js';
import { print } from './output.js';
import type { CliIo } from './cliIo.js';

export function addKeyCommands(program: Command, terminal: CliIo): void {
  const keys = addGroup(program, 'keys', 'the keys that sign tokens');
  addCommand(keys, 'rotate', 'sign tokens with a new key; tokens of the previous key stay valid')
    .option('--force', 'rotate even if tokens of the dropped key are still valid')
    .action(async ({ force = false, json }) => {
      const { signingKeysFile, accessTokenTtl, refreshTokenTtl } = readConfig(terminal.environment);
      const retireAfter = Math.max(accessTokenTtl, refreshTokenTtl);
      // Use the database: for its clock, for the audit, and to record the new key.
      const { kid, retired } = await withDatabase(terminal, async (context) => {
        const { now, newId } = context;
        const rotation = await rotateSigningKeys(signingKeysFile, { now: now(), newId, retireAfter, force }).catch(
          (cause: unknown) => {
            // Errors without a code have advice.
            if (errorCode(cause) === undefined) throw cause;
            const advice = 'Correct that, and run the command as scripts/production/install.md#signing-keys says.';
            throw new Error(`${signingKeysFile} cannot be read or replaced: ${messageOf(cause)}. ${advice}`, { cause });
          },
        );
        await addKnown(context, [rotation]).catch((error: unknown) => {
          const advice = `Correct what "${PROGRAM} doctor" reports, then copy the file to the other servers.`;
          throw new Error(
            `${signingKeysFile} has a new key, but the database did not record it: ${causeOf(error)}. ${advice}`,
          );
        });
        return rotation;
      });
      const told = `New tokens are signed with the key ${kid} (${signingKeysFile}). Running servers that read this file use it immediately: copy it to the others.`;
      const dropped = retired.length > 0 ? `\nDropped: ${retired.join(', ')}` : '';
      print(terminal, json, { kid, retired }, told + dropped);
    });
}
