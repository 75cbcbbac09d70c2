import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import { idsOf, limitApiClient } from '../domain/access/apiClients.js';
import { withDatabase } from './operator.js';
import { assertUsage, example, EXAMPLE_CLIENT, FOLLOW, print } from './output.js';
import type { CliIo } from './cliIo.js';

const MOST = 1_000_000;

/** Adds `client update`. */
export function addUpdate(client: Command, terminal: CliIo): void {
  client
    .command('update')
    .description('change the limits of an API client')
    .argument('<client-id>')
    .addOption(
      new Option(
        '--requests-per-minute <number>',
        'request limit of the client, or "default" for that of the server',
      ).argParser((text) => (text === 'default' ? text : requestsPerMinute(text))),
    )
    .option('--pharmacy <id...>', 'limit the client to order lines of these pharmacies, or "all"')
    .option('--json', 'print JSON')
    .addHelpText('after', example(`client update ${EXAMPLE_CLIENT} --requests-per-minute 6000`))
    .action(async (clientId, { requestsPerMinute: wanted, pharmacy, json }, command) => {
      const own = wanted === 'default' ? null : wanted;
      const pharmacies = pharmacy?.join() === 'all' ? null : pharmacy;
      assertUsage(command, () => {
        if (own === undefined && pharmacies === undefined) throw new Error('There is nothing to change: see --help.');
        idsOf('pharmacy', pharmacies ?? []);
      });
      const wishes = { requestsPerMinute: own, pharmacies };
      await withDatabase(terminal, (context) => limitApiClient(context, clientId, wishes));
      const limits: string[] = [];
      if (own !== undefined) {
        limits.push(own === null ? 'the limit of the server' : `a limit of ${own} requests a minute`);
      }
      if (pharmacies !== undefined) limits.push(`access to ${pharmacies?.join(' ') ?? 'every pharmacy'}`);
      const shown = { clientId, requestsPerMinute: own, allowedPharmacyIds: pharmacies };
      print(terminal, json, shown, () => `${clientId} has ${limits.join(' and ')}. ${FOLLOW}`);
    });
}

/** @throws InvalidArgumentError */
export function requestsPerMinute(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= MOST) return number;
  throw new InvalidArgumentError(`It is a whole number from 1 to ${MOST}.`);
}
