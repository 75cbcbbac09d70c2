import type { Command } from '@commander-js/extra-typings';
import { importProviders } from '../domain/providers/importProviders.js';
import { faultless, readText } from './files.js';
import { withTenant } from './operator.js';
import { example, fields, print } from './output.js';
import type { CliIo } from './cliIo.js';

const FORMAT = `
The file is JSON: { "providers": [{ "reviewerRef": "…", "name": "…", "npi": "1234567893", "isActive": true,
"licences": [{ "state": "TX", "number": "…", "expiresOn": "2027-12-31", "asynchronousAllowed": true }] }] }.
The reviewing system sends reviewerRef with its reviews. A licence is valid until the end of its last day (UTC). The
import creates or updates the providers of the file and leaves others as they are. A second import of a file changes
nothing. \`tenant configure --require-licensed-provider on\` makes licences necessary.`;

/** Adds `provider import`. */
export function addProviderCommands(program: Command, terminal: CliIo): void {
  const provider = program.command('provider').description('providers and their licences').helpCommand(false);
  provider
    .command('import')
    .description('import a file of providers; a file with a fault changes nothing')
    .argument('<file>')
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .option('--json', 'print JSON')
    .addHelpText('after', FORMAT)
    .addHelpText('after', example('provider import providers.json --tenant lakeside'))
    .action(async (file, { tenant, json }) => {
      const text = await readText(file);
      const { report } = await withTenant(terminal, tenant, async (context, id) =>
        faultless(file, await importProviders(context, id, text)),
      );
      const counts = Object.entries(report).map(([state, count]) => [state, String(count)]);
      print(terminal, json, report, () => fields(Object.fromEntries(counts) as Record<string, string>));
    });
}
