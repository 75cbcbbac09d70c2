import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import { EFFECT_SECONDS } from '../domain/access/apiClients.js';
import { retireSecret, rotateSecret } from '../domain/access/apiClientSecrets.js';
import { addCommand, PROGRAM } from './command.js';
import { withDatabase } from './operator.js';
import { EXAMPLE_CLIENT, fields, print, SHOWN_ONCE } from './output.js';
import type { CliIo } from './cliIo.js';

/** Callers need time to change over; `retire-secret` ends a secret at once. */
const SHORTEST_OVERLAP = 3_600;
const EXPIRE_OLD = `end the old secret after this time (at least ${SHORTEST_OVERLAP})`;

/** Adds `client rotate-secret|retire-secret`. */
export function addSecretCommands(client: Command, terminal: CliIo): void {
  const rotating = 'add a secret; the old one stays valid until you retire it';
  const examples = [EXAMPLE_CLIENT, `${EXAMPLE_CLIENT} --expire-old 604800`];
  addCommand(client, 'rotate-secret <client-id>', rotating, examples, '\nWith --json: clientId, clientSecret, old.')
    .option('--expire-old <seconds>', EXPIRE_OLD, overlap)
    .action(async (clientId, { expireOld = null, json }) => {
      const rotated = await withDatabase(terminal, (context) => rotateSecret(context, clientId, expireOld));
      const { clientSecret } = rotated;
      const old = rotated.old && { hint: rotated.old.hint, expiresAt: rotated.old.expiresAt };
      const ends = old?.expiresAt ? `ends at ${old.expiresAt.toISOString()}` : 'stays valid until you retire it';
      const ofOld = old
        ? `The old secret (…${old.hint}) ${ends}: ${PROGRAM} client retire-secret ${clientId}`
        : 'There was no other active secret.';
      const told = `${fields({ 'client id': clientId, 'new secret': clientSecret })}\n${SHOWN_ONCE}\n${ofOld}`;
      print(terminal, json, { clientId, clientSecret, old }, told);
    });

  const retiring = 'end the older of two secrets and its refresh tokens, after the caller has used the new one';
  addCommand(client, 'retire-secret <client-id>', retiring, [EXAMPLE_CLIENT])
    .option('--hint <last-four>', 'end the secret with these last four characters instead')
    .option('--force', 'even if the other secret has never been used')
    .action(async (clientId, { hint: wanted, force = false, json }) => {
      const { hint, expiresAt } = await withDatabase(terminal, (context) =>
        retireSecret(context, clientId, { hint: wanted, force }),
      );
      const told =
        `The secret …${hint} of ${clientId} can no longer obtain tokens. Its access tokens stay valid until they expire; ` +
        `"client revoke-tokens" ends them within ${EFFECT_SECONDS} seconds.`;
      print(terminal, json, { clientId, hint, expiresAt }, told);
    });
}

function overlap(text: string): number {
  if (/^\d{1,8}$/.test(text) && Number(text) >= SHORTEST_OVERLAP) return Number(text);
  throw new InvalidArgumentError(`Give whole seconds, at least ${SHORTEST_OVERLAP}.`);
}
