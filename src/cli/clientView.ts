import type { Command } from '@commander-js/extra-typings';
import { listApiClients } from '../domain/access/apiClients.js';
import { activeSecrets, findApiClient, type ApiClientWithSecrets } from '../domain/access/apiClientSecrets.js';
import { withDatabase } from './operator.js';
import { example, EXAMPLE_CLIENT, fields, print, table, yesNo } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds `client list|show`. */
export function addViewCommands(client: Command, terminal: CliIo): void {
  addList(client, terminal);
  addShow(client, terminal);
}

function addList(client: Command, terminal: CliIo): void {
  client
    .command('list')
    .description('list API clients with the last four characters of each secret')
    .option('--tenant <tenant>', 'id or name of one tenant (default: all)')
    .option('--json', 'print JSON')
    .addHelpText('after', example('client list --tenant lakeside'))
    .action(async ({ tenant, json }) => {
      const { clients, now } = await withDatabase(terminal, async (context) => ({
        clients: await listApiClients(context, tenant),
        now: context.now(),
      }));
      const header = ['TENANT', 'NAME', 'CLIENT ID', 'ACTIVE', 'SECRETS', 'LAST USED', 'PERMISSIONS'];
      const rows = clients.map(({ tenantId, name, clientId, isActive, secrets, lastUsedAt, permissions }) => {
        const hints = activeSecrets(secrets, now).map(({ hint }) => `…${hint}`);
        const lastUsed = lastUsedAt?.toISOString() ?? 'never';
        return [tenantId, name, clientId, yesNo(isActive), hints.join(' '), lastUsed, permissions.join(' ')];
      });
      const asShown = clients.map((found) => shown(found, now));
      print(terminal, json, asShown, () => table(header, rows));
    });
}

function addShow(client: Command, terminal: CliIo): void {
  client
    .command('show')
    .description('show an API client with the last four characters of each secret')
    .argument('<client-id>')
    .option('--json', 'print JSON')
    .addHelpText('after', example(`client show ${EXAMPLE_CLIENT}`))
    .action(async (clientId, { json }) => {
      const { found, now } = await withDatabase(terminal, async (context) => ({
        found: await findApiClient(context, clientId),
        now: context.now(),
      }));
      print(terminal, json, shown(found, now), () =>
        fields({
          tenant: found.tenantId,
          name: found.name,
          'client id': found.clientId,
          active: yesNo(found.isActive),
          permissions: found.permissions.join(' '),
          clinics: clinicsOf(found),
          ...pharmaciesOf(found),
          limit: found.requestsPerMinute === null ? 'that of the server' : `${found.requestsPerMinute} a minute`,
          created: found.createdAt.toISOString(),
          'last used': found.lastUsedAt?.toISOString() ?? 'never',
          'tokens from': found.tokensValidAfter?.toISOString() ?? 'any time',
          secrets: found.secrets.map(({ hint, expiresAt }) => secretOf(hint, expiresAt, now)).join(', ') || 'none',
        }),
      );
    });
}

function secretOf(hint: string, expiresAt: Date | null, now: Date): string {
  if (expiresAt === null) return `…${hint}`;
  return `…${hint} (${expiresAt > now ? 'ends' : 'ended'} ${expiresAt.toISOString()})`;
}

function shown(client: ApiClientWithSecrets, now: Date): object {
  const { clientId, tenantId, name, permissions, requestsPerMinute, isActive } = client;
  const { tokensValidAfter, lastUsedAt, createdAt, secrets } = client;
  const active = activeSecrets(secrets, now);
  return {
    clientId,
    tenantId,
    name,
    permissions,
    allowedClinicIds: client.allowedClinicIds.length > 0 ? client.allowedClinicIds : null,
    allowedPharmacyIds: client.allowedPharmacyIds.length > 0 ? client.allowedPharmacyIds : null,
    requestsPerMinute,
    isActive,
    tokensValidAfter,
    lastUsedAt,
    createdAt,
    secrets: secrets.map((secret) => ({ ...secret, isActive: active.includes(secret) })),
  };
}

/** The clinics that a client is limited to, for people. */
export function clinicsOf({ allowedClinicIds }: { readonly allowedClinicIds: readonly string[] }): string {
  return allowedClinicIds.length > 0 ? allowedClinicIds.join(' ') : 'all of the tenant';
}

/** The pharmacies that a client is limited to, if it is. */
export function pharmaciesOf({ allowedPharmacyIds }: { readonly allowedPharmacyIds: readonly string[] }) {
  return allowedPharmacyIds.length > 0 ? { pharmacies: allowedPharmacyIds.join(' ') } : {};
}
