import type { Command } from '@commander-js/extra-typings';
import { listApiClients } from '../domain/access/apiClients.js';
import { activeSecrets, findApiClient, type ApiClientWithSecrets } from '../domain/access/apiClientSecrets.js';
import { addCommand } from './command.js';
import { withDatabase } from './operator.js';
import { EXAMPLE_CLIENT, fields, print, table, yesNo } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds the commands `client list` and `client show`. */
export function addViewCommands(client: Command, terminal: CliIo): void {
  const listing = 'list API clients with the last four characters of each secret';
  addCommand(client, 'list', listing, ['--tenant lakeside'])
    .option('--tenant <tenant>', 'id or name of one tenant (default: all)')
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
      const listed = clients.map((one) => shown(one, now));
      print(terminal, json, listed, table(header, rows));
    });

  const showing = 'show an API client with the last four characters of each secret';
  addCommand(client, 'show <client-id>', showing, [EXAMPLE_CLIENT]).action(async (clientId, { json }) => {
    const { row, now } = await withDatabase(terminal, async (context) => ({
      row: await findApiClient(context, clientId),
      now: context.now(),
    }));
    print(terminal, json, shown(row, now), told(row, now));
  });
}

/** All settings of a client as text for people. */
export function told(row: ApiClientWithSecrets, now: Date): string {
  return fields({
    tenant: row.tenantId,
    name: row.name,
    'client id': row.clientId,
    active: yesNo(row.isActive),
    permissions: row.permissions.join(' '),
    clinics: clinicsOf(row),
    ...pharmaciesOf(row),
    limit: row.requestsPerMinute === null ? 'that of the server' : `${row.requestsPerMinute} a minute`,
    created: row.createdAt.toISOString(),
    'last used': row.lastUsedAt?.toISOString() ?? 'never',
    'tokens from': row.tokensValidAfter?.toISOString() ?? 'any time',
    secrets: row.secrets.map(({ hint, expiresAt }) => secretOf(hint, expiresAt, now)).join(', ') || 'none',
  });
}

function secretOf(hint: string, expiresAt: Date | null, now: Date): string {
  if (expiresAt === null) return `…${hint}`;
  return `…${hint} (${expiresAt > now ? 'ends' : 'ended'} ${expiresAt.toISOString()})`;
}

/** All settings of a client as JSON. */
export function shown(client: ApiClientWithSecrets, now: Date): object {
  const { clientId, tenantId, name, permissions, requestsPerMinute, isActive } = client;
  const { allowedClinicIds, allowedPharmacyIds, tokensValidAfter, lastUsedAt, createdAt, secrets } = client;
  const active = activeSecrets(secrets, now);
  return {
    ...{ clientId, tenantId, name, permissions },
    allowedClinicIds: allowedClinicIds.length > 0 ? allowedClinicIds : null,
    allowedPharmacyIds: allowedPharmacyIds.length > 0 ? allowedPharmacyIds : null,
    ...{ requestsPerMinute, isActive, tokensValidAfter, lastUsedAt, createdAt },
    secrets: secrets.map((secret) => ({ ...secret, isActive: active.includes(secret) })),
  };
}

/** The clinics to which a client is limited, as text. */
export const clinicsOf = ({ allowedClinicIds }: Pick<ApiClientWithSecrets, 'allowedClinicIds'>): string =>
  allowedClinicIds.length > 0 ? allowedClinicIds.join(' ') : 'all of the tenant';

/** The pharmacies to which a client is limited; absent if it is not. */
export const pharmaciesOf = ({ allowedPharmacyIds }: Pick<ApiClientWithSecrets, 'allowedPharmacyIds'>) =>
  allowedPharmacyIds.length > 0 ? { pharmacies: allowedPharmacyIds.join(' ') } : {};
