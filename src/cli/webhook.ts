import type { Command } from '@commander-js/extra-typings';
import { disableEndpointOf, findEndpoints } from '../domain/webhooks/endpoints.js';
import { addGroup, addTenantCommand } from './command.js';
import { inTenant, withTenant } from './operator.js';
import { print, table, uuidOr } from './output.js';
import type { CliIo } from './cliIo.js';

const TENANT = '--tenant lakeside';
const ENDPOINT = `${TENANT} --endpoint 01a1f9b8-cbc0-7000-8000-00000000ab01`;
const endpointId = uuidOr('Give the id of an endpoint. See "webhook list".');

export function addWebhookCommands(program: Command, terminal: CliIo): void {
  const webhook = addGroup(program, 'webhook', 'the webhook endpoints of a tenant');

  addTenantCommand(webhook, 'list', 'list the webhook endpoints of a tenant', [TENANT]).action(
    async ({ tenant, json }) => {
      const endpoints = await withTenant(terminal, tenant, ({ db }, tenantId) => findEndpoints(db, { tenantId }));
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
}
