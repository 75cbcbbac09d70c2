import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import { EFFECT_SECONDS } from '../domain/access/apiClients.js';
import { retireSecret, rotateSecret } from '../domain/access/apiClientSecrets.js';
import { withDatabase } from './operator.js';
import { example, EXAMPLE_CLIENT, fields, print, PROGRAM, SHOWN_ONCE } from './output.js';
import type { CliIo } from './cliIo.js';

/** Callers need time to change over; `retire-secret` ends a secret at once. */
const SHORTEST_OVERLAP = 3_600;
const EXPIRE_OLD = `end the old secret after this time (at least ${SHORTEST_OVERLAP})`;

/** Adds `client rotate-secret|retire-secret`. */
export function addSecretCommands(client: Command, terminal: CliIo): void {
  addRotateSecret(client, terminal);
  addRetireSecret(client, terminal);
}

function addRotateSecret(client: Command, terminal: CliIo): void {
  client
    .command('rotate-secret')
    .description('add a secret; the old one stays valid until you retire it')
    .argument('<client-id>')
    .option('--expire-old <seconds>', EXPIRE_OLD, overlap)
    .option('--json', 'print JSON: clientId, clientSecret, old')
    .addHelpText(
      'after',
      example(`client rotate-secret ${EXAMPLE_CLIENT}`, `client rotate-secret ${EXAMPLE_CLIENT} --expire-old 604800`),
    )
    .action(async (clientId, { expireOld, json }) => {
      const { clientSecret, old } = await withDatabase(terminal, (context) =>
        rotateSecret(context, clientId, expireOld ?? null),
      );
      const ends = old?.expiresAt ? `ends at ${old.expiresAt.toISOString()}` : 'stays valid until you retire it';
      const ofOld = old
        ? `The old secret (…${old.hint}) ${ends}: ${PROGRAM} client retire-secret ${clientId}`
        : 'There was no other active secret.';
      const told = `${fields({ 'client id': clientId, 'new secret': clientSecret })}\n${SHOWN_ONCE}\n${ofOld}`;
      const shown = { clientId, clientSecret, old: old && { hint: old.hint, expiresAt: old.expiresAt } };
      print(terminal, json, shown, () => told);
    });
}

function addRetireSecret(client: Command, terminal: CliIo): void {
  client
    .command('retire-secret')
    .description('end the older of two secrets and its refresh tokens, after the caller has used the new one')
    .argument('<client-id>')
    .option('--hint <last-four>', 'end the secret with these last four characters instead')
    .option('--force', 'even if the other secret has never been used')
    .option('--json', 'print JSON')
    .addHelpText('after', example(`client retire-secret ${EXAMPLE_CLIENT}`))
    .action(async (clientId, { hint, force, json }) => {
      const ended = await withDatabase(terminal, (context) =>
        retireSecret(context, clientId, { hint, force: force ?? false }),
      );
      const told =
        `The secret …${ended.hint} of ${clientId} obtains no more tokens. Access tokens live on until they expire; ` +
        `"client revoke-tokens" ends them within ${EFFECT_SECONDS} seconds.`;
      print(terminal, json, { clientId, hint: ended.hint, expiresAt: ended.expiresAt }, () => told);
    });
}

function overlap(text: string): number {
  const seconds = Number(text);
  if (/^\d{1,8}$/.test(text) && seconds >= SHORTEST_OVERLAP) return seconds;
  throw new InvalidArgumentError(`Give whole seconds, at least ${SHORTEST_OVERLAP}.`);
}
