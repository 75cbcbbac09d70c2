import type { Command } from '@commander-js/extra-typings';
import { importProviders } from '../domain/reviews/importProviders.js';
import { faultless, readText } from './files.js';
import { withTenant } from './operator.js';
import { example, fields, print } from './output.js';
import type { CliIo } from './cliIo.js';

const FORMAT = `
The file is JSON: { "providers": [{ "reviewerRef": "…", "name": "…", "npi": "1234567893", "isActive": true,
"licences": [{ "state": "TX", "number": "…", "expiresOn": "2027-12-31", "asynchronousAllowed": true }] }] }.
reviewerRef is what the reviewing system sends; a licence is in force to the end of its last day (UTC). A provider
that the file names is afterwards as the file says, one that it does not name stays. A second import of the same
file changes nothing. With any fault nothing is imported. What needs a licence: \`tenant configure
--require-licensed-provider on\`.`;

/** Adds `provider import`. */
export function addProviderCommands(program: Command, terminal: CliIo): void {
  const provider = program.command('provider').description('providers and their licences').helpCommand(false);
  provider
    .command('import')
    .description('import a file of providers: all of it or, if it has a fault, nothing')
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
