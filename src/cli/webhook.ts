import { Option, type Command } from '@commander-js/extra-typings';
import { listDeliveries, retryDelivery, type Delivery } from '../domain/webhooks/deliveries.js';
import { updateEndpoint } from '../domain/webhooks/endpoints.js';
import { disableEndpointOf, listEndpointsOf, replayOf } from '../domain/webhooks/operator.js';
import { addGroup, addListCommand, addTenantCommand } from './command.js';
import { asCaller, inTenant, withTenant } from './operator.js';
import { moment, print, printList, table, uuidOr } from './output.js';
import type { CliIo } from './cliIo.js';

const TENANT = '--tenant lakeside';
const ENDPOINT = `${TENANT} --endpoint 01a1f9b8-cbc0-7000-8000-00000000ab01`;
const endpointId = uuidOr('Give the id of an endpoint. See "webhook list".');

export function addWebhookCommands(program: Command, terminal: CliIo): void {
  const webhook = addGroup(program, 'webhook', 'the webhook endpoints of a tenant');

  addTenantCommand(webhook, 'list', 'list the webhook endpoints of a tenant', [TENANT]).action(
    async ({ tenant, json }) => {
      const endpoints = await withTenant(terminal, tenant, listEndpointsOf);
      const header = ['ID', 'CLIENT', 'STATUS', 'LAST SUCCESS', 'LAST FAILURE', 'URL'];
      const rows = endpoints.map(({ id, clientId, status, disabledReason, lastSuccessAt, lastFailureAt, url }) => {
        const state = disabledReason === null ? status : `${status} (${disabledReason})`;
        const [success, failure] = [lastSuccessAt, lastFailureAt].map((time) => time?.toISOString() ?? 'never');
        return [id, clientId, state, success ?? '', failure ?? '', url];
      });
      print(terminal, json, endpoints, table(header, rows));
    },
  );

  const disabling = 'stop deliveries to a webhook endpoint until it is enabled again; the feed reports it';
  addTenantCommand(webhook, 'disable', disabling, [ENDPOINT])
    .requiredOption('--endpoint <id>', 'id of the endpoint', endpointId)
    .action(async ({ tenant, endpoint, json }) => {
      await inTenant(terminal, tenant, (transaction, id) => disableEndpointOf(transaction, id, endpoint));
      print(terminal, json, { id: endpoint, status: 'disabled' }, `${endpoint} is disabled.`);
    });

  const enabling = 'deliver to a disabled webhook endpoint again: its waiting deliveries and events from now on';
  addTenantCommand(webhook, 'enable', enabling, [ENDPOINT])
    .requiredOption('--endpoint <id>', 'id of the endpoint', endpointId)
    .action(async ({ tenant, endpoint, json }) => {
      await inTenant(terminal, tenant, (transaction) => updateEndpoint(transaction, endpoint, { status: 'active' }));
      print(terminal, json, { id: endpoint, status: 'active' }, `${endpoint} is active.`);
    });

  const deliveries = 'list the newest deliveries of a webhook endpoint';
  addListCommand(webhook, 'deliveries', deliveries, [`${ENDPOINT} --status failed`])
    .requiredOption('--endpoint <id>', 'id of the endpoint', endpointId)
    .addOption(
      new Option('--status <status>', 'deliveries with this status').choices([
        'waiting',
        'delivered',
        'failed',
      ] as const),
    )
    .action(async ({ tenant, endpoint, json, ...filter }) => {
      const page = await asCaller(terminal, tenant, (context) => listDeliveries(context, endpoint, filter));
      printList(terminal, json, page, deliveryOf);
    });

  const retrying = 'send one delivery again, even if it has succeeded';
  addTenantCommand(webhook, 'retry', retrying, [`${ENDPOINT} --delivery 01a1f9b8-cbc0-7000-8000-00000000de02`])
    .requiredOption('--endpoint <id>', 'id of the endpoint', endpointId)
    .requiredOption(
      '--delivery <id>',
      'id of the delivery',
      uuidOr('Give the id of a delivery. See "webhook deliveries".'),
    )
    .action(async ({ tenant, endpoint, delivery, json }) => {
      const { status } = await inTenant(terminal, tenant, (transaction) =>
        retryDelivery(transaction, endpoint, delivery),
      );
      print(terminal, json, { id: delivery, status }, `${delivery} is ${status} and will be sent within seconds.`);
    });

  const replaying = 'deliver up to 10,000 past events to a webhook endpoint again, with the same webhook-id';
  addTenantCommand(webhook, 'replay', replaying, [`${ENDPOINT} --after 2026-11-01T06:00:00Z`])
    .requiredOption('--endpoint <id>', 'id of the endpoint', endpointId)
    .requiredOption('--after <time>', 'after this time, such as 2026-11-01 or 2026-11-01T06:00:00Z', moment)
    .option('--before <time>', 'before this time (default: until now)', moment)
    .action(async ({ tenant, endpoint, after, before = null, json }) => {
      const deliveries = await inTenant(terminal, tenant, (transaction, id) =>
        replayOf(transaction, id, endpoint, { after, before }),
      );
      print(terminal, json, { id: endpoint, deliveries }, `Events to deliver to ${endpoint}: ${deliveries}.`);
    });
}

function deliveryOf({ id, eventId, eventType, status, attempts, createdAt, nextAttemptAt }: Delivery) {
  const last = attempts.at(-1);
  const result = last ? (last.http_status ?? last.error) : null;
  const times = { created: createdAt.toISOString(), next: nextAttemptAt?.toISOString() ?? null };
  return { id, event: eventId, type: eventType, status, attempts: attempts.length, last: result, ...times };
}
