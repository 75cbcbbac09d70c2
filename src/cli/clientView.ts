import type { Command } from '@commander-js/extra-typings';
import { listApiClients } from '../domain/access/apiClients.js';
import { activeSecrets, type ApiClientWithSecrets } from '../domain/access/apiClientSecrets.js';
import { addCommand } from './command.js';
import { withDatabase } from './operator.js';
import { print, table, yesNo } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds the command `client list`. */
export function addClientList(client: Command, terminal: CliIo): void {
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
}

/** A client for --json: its settings and times, and its secrets without their hashes. */
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
