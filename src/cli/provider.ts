import type { Command } from '@commander-js/extra-typings';
import { importProviders, incompleteProviders } from '../domain/providers/importProviders.js';
import { addGroup, addTenantCommand, PROGRAM } from './command.js';
import { faultless, readText } from './files.js';
import { withTenant } from './operator.js';
import { fields, print } from './output.js';
import type { CliIo } from './cliIo.js';

const FORMAT = `
The file is JSON: { "providers": [{ "reviewerRef": "…", "name": "…", "npi": "1234567893", "credential": "MD",
"deaNumber": "AB1234563", "isActive": true,
"licenses": [{ "state": "TX", "number": "…", "expiresOn": "2027-12-31", "asynchronousAllowed": true }] }] }.
The reviewing system sends reviewerRef with its reviews. credential is MD, DO, NP, PA, RN or other. Without credential
or deaNumber the import succeeds; for a live tenant it warns, and so does \`doctor\`. A license is valid until the end of its last day (UTC). The
import creates or updates the providers of the file and leaves others unchanged. Importing a file twice changes
nothing. \`tenant configure --require-licensed-provider on\` makes licenses mandatory.`;

export function addProviderCommands(program: Command, terminal: CliIo): void {
  const provider = addGroup(program, 'provider', 'providers and their licenses');
  const description = 'import a file of providers; a file with errors changes nothing';
  addTenantCommand(provider, 'import <file>', description, ['providers.json --tenant lakeside'], {
    notes: FORMAT,
  }).action(async (file, { tenant, json }) => {
    const text = await readText(file);
    const { report, incomplete } = await withTenant(terminal, tenant, async (context, id) => ({
      ...faultless(file, await importProviders(context, id, text)),
      incomplete: (await incompleteProviders(context.db)).find(({ tenantId }) => tenantId === id),
    }));
    if (incomplete) terminal.err(`Warning: ${incompleteText(incomplete)} ${COMPLETE_THEM}\n`);
    print(terminal, json, report, fields(report));
  });
}

/** The warning of import and `doctor` about a live tenant's providers. */
export const incompleteText = ({ tenantId, count }: { tenantId: string; count: number }): string =>
  `${count} active ${count === 1 ? 'provider lacks' : 'providers lack'} a credential or a DEA number (tenant ${tenantId}).`;

/** What to do about them. */
export const COMPLETE_THEM = `Import those who have both again, with all their licenses, which the import replaces ("${PROGRAM} provider import"). The others cannot approve controlled substances.`;
