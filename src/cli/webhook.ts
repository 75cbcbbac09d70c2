import type { Command } from '@commander-js/extra-typings';
import { disableEndpointOf, listEndpointsOf, replayOf } from '../domain/webhooks/operator.js';
import { moment } from './audit.js';
import { inTenant, withTenant } from './operator.js';
import { example, print, table, uuidOr } from './output.js';
import type { CliIo } from './cliIo.js';

const EXAMPLE = '--tenant lakeside --endpoint 01a1f9b8-cbc0-7000-8000-00000000ab01';

/** Adds `webhook list|disable|replay`. */
export function addWebhookCommands(program: Command, terminal: CliIo): void {
  const webhook = program.command('webhook').description('the webhook endpoints of a tenant').helpCommand(false);
  addList(webhook, terminal);
  addDisable(webhook, terminal);
  addReplay(webhook, terminal);
}

function addList(webhook: Command, terminal: CliIo): void {
  webhook
    .command('list')
    .description('list the webhook endpoints of a tenant')
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .option('--json', 'print JSON')
    .addHelpText('after', example('webhook list --tenant lakeside'))
    .action(async ({ tenant, json }) => {
      const endpoints = await withTenant(terminal, tenant, listEndpointsOf);
      const header = ['ID', 'CLIENT', 'STATUS', 'LAST SUCCESS', 'LAST FAILURE', 'URL'];
      const rows = endpoints.map(({ id, clientId, status, disabledReason, lastSuccessAt, lastFailureAt, url }) => [
        id,
        clientId,
        disabledReason === null ? status : `${status} (${disabledReason})`,
        lastSuccessAt?.toISOString() ?? 'never',
        lastFailureAt?.toISOString() ?? 'never',
        url,
      ]);
      print(terminal, json, endpoints, () => table(header, rows));
    });
}

function addDisable(webhook: Command, terminal: CliIo): void {
  webhook
    .command('disable')
    .description('stop deliveries to a webhook endpoint until its partner enables it again; the feed reports it')
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .requiredOption('--endpoint <id>', 'id of the endpoint', endpointId)
    .option('--json', 'print JSON')
    .addHelpText('after', example(`webhook disable ${EXAMPLE}`))
    .action(async ({ tenant, endpoint, json }) => {
      await inTenant(terminal, tenant, (transaction, id) => disableEndpointOf(transaction, id, endpoint));
      print(terminal, json, { id: endpoint, status: 'disabled' }, () => `${endpoint} is disabled.`);
    });
}

function addReplay(webhook: Command, terminal: CliIo): void {
  webhook
    .command('replay')
    .description('deliver up to 10,000 past events to a webhook endpoint again, with the same webhook-id')
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .requiredOption('--endpoint <id>', 'id of the endpoint', endpointId)
    .requiredOption('--after <time>', 'after this moment, such as 2026-11-01 or 2026-11-01T06:00:00Z', moment)
    .option('--before <time>', 'before this moment (default: until now)', moment)
    .option('--json', 'print JSON')
    .addHelpText('after', example(`webhook replay ${EXAMPLE} --after 2026-11-01T06:00:00Z`))
    .action(async ({ tenant, endpoint, after, before = null, json }) => {
      const deliveries = await inTenant(terminal, tenant, (transaction, id) =>
        replayOf(transaction, id, endpoint, { after, before }),
      );
      print(terminal, json, { id: endpoint, deliveries }, () => `Events on their way to ${endpoint}: ${deliveries}.`);
    });
}

const endpointId = uuidOr('Give the id of an endpoint: see "webhook list".');
