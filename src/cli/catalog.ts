import type { Command } from '@commander-js/extra-typings';
import { SingleBar } from 'cli-progress';
import { importCatalog, type CatalogReport } from '../domain/catalog/import/importCatalog.js';
import { addGroup, addTenantCommand } from './command.js';
import { faultless, readText } from './files.js';
import { withTenant } from './operator.js';
import { print, table } from './output.js';
import type { CliIo } from './cliIo.js';

const FORMAT = `
The file is JSON with any of "clinics", "pharmacies", "categories" and "products"; see prisma/demo/harbor.json.
The import creates or updates the elements of the file and replaces all their locations, variants and availability;
it leaves other elements unchanged. Importing a file twice changes nothing.
"isDeleted": true deletes a product, false restores it. An optional "id" renames a stored element or sets the id of
a new one.`;

export function addCatalogCommands(program: Command, terminal: CliIo): void {
  const catalog = addGroup(program, 'catalog', 'the clinics and products of a tenant');

  const importing = 'import a catalog file; a file with errors changes nothing';
  addTenantCommand(catalog, 'import <file>', importing, ['catalog.json --tenant lakeside'], { notes: FORMAT }).action(
    async (file, { tenant, json }) => {
      const text = await readText(file);
      const bar = progressBar(terminal.screen);
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

/** A progress bar on a terminal; draws nothing if the stream is null, for files and pipes. */
function progressBar(stream: NodeJS.WriteStream | null) {
  if (!stream) return { progress: () => {}, stop: () => {} };
  const format = 'importing {bar} {percentage} % ({value} of {total} rows)';
  const bar = new SingleBar({ stream, clearOnComplete: true, format });
  return {
    progress: (written: number, total: number) => (bar.isActive ? bar.update(written) : bar.start(total, written)),
    stop: () => bar.stop(),
  };
}
