import type { Command } from '@commander-js/extra-typings';
import { importCatalog, type CatalogReport } from '../domain/catalog/import/importCatalog.js';
import { addGroup, addTenantCommand } from './command.js';
import { faultless, readText } from './files.js';
import { withTenant } from './operator.js';
import { print, progressBar, table } from './output.js';
import type { CliIo } from './cliIo.js';

const FORMAT = `
The file is JSON with any of "clinics", "pharmacies", "categories" and "products"; see prisma/demo/harbor.json.
The import creates or updates the elements of the file and replaces all their locations, variants and availability;
it leaves other elements unchanged. Importing a file twice changes nothing.
"isDeleted": true deletes a product, false restores it. An optional "id" finds a stored element whose
name changes, or sets the id of a new one.`;

export function addCatalogCommands(program: Command, terminal: CliIo): void {
  const catalog = addGroup(program, 'catalog', 'the clinics and products of a tenant');

  const importing = 'import a catalog file; a file with errors changes nothing';
  addTenantCommand(catalog, 'import <file>', importing, ['catalog.json --tenant lakeside'], { notes: FORMAT }).action(
    async (file, { tenant, json }) => {
      const text = await readText(file);
      const bar = progressBar(terminal.screen, 'rows');
      const report = await withTenant(terminal, tenant, async (context, id) =>
        faultless(file, await importCatalog(context, id, text, bar.progress)),
      ).finally(bar.stop);
      print(terminal, json, report, reportTable(report));
    },
  );
}

function reportTable(report: CatalogReport): string {
  const rows = Object.entries(report).map(([kind, { created, updated, unchanged }]) => {
    return [kind, ...[created, updated, unchanged].map(String)];
  });
  return table(['', 'CREATED', 'UPDATED', 'UNCHANGED'], rows);
}
