import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import { limitApiClient } from '../domain/access/apiClients.js';
import { withDatabase } from './operator.js';
import { example, EXAMPLE_CLIENT, FOLLOW, print } from './output.js';
import type { CliIo } from './cliIo.js';

const MOST = 1_000_000;

/** Adds `client update`. */
export function addUpdate(client: Command, terminal: CliIo): void {
  client
    .command('update')
    .description('change the limit of an API client')
    .argument('<client-id>')
    .addOption(
      new Option('--requests-per-minute <number>', 'its own limit, or "default" for that of the server')
        .argParser((text) => (text === 'default' ? text : requestsPerMinute(text)))
        .makeOptionMandatory(),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', example(`client update ${EXAMPLE_CLIENT} --requests-per-minute 6000`))
    .action(async (clientId, { requestsPerMinute: wanted, json }) => {
      const own = wanted === 'default' ? null : wanted;
      await withDatabase(terminal, (context) => limitApiClient(context, clientId, own));
      const limit = own === null ? 'the limit of the server' : `a limit of ${own} requests a minute`;
      print(terminal, json, { clientId, requestsPerMinute: own }, () => `${clientId} has ${limit}. ${FOLLOW}`);
    });
}

/** @throws InvalidArgumentError */
export function requestsPerMinute(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= MOST) return number;
  throw new InvalidArgumentError(`It is a whole number from 1 to ${MOST}.`);
}
