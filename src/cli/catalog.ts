import type { Command } from '@commander-js/extra-typings';
import { SingleBar } from 'cli-progress';
import { exportCatalog } from '../domain/catalog/exportCatalog.js';
import { catalogSchema, ownKeywords } from '../domain/catalog/import/catalogSchema.js';
import { importCatalog, type CatalogReport, type PlannedChange } from '../domain/catalog/import/importCatalog.js';
import { addCommand, addGroup, addTenantCommand } from './command.js';
import { faultless, readText, remark } from './files.js';
import { withTenant } from './operator.js';
import { print, table } from './output.js';
import type { CliIo } from './cliIo.js';

const FORMAT = `
The file is JSON with any of "clinics", "pharmacies", "categories" and "products"; see prisma/demo/harbor.json
and \`catalog schema\`. The import creates or updates the elements of the file and replaces all their locations,
variants and availability; it leaves other elements unchanged. Importing a file twice changes nothing.
{ "sku": "…", "isDeleted": true } deletes a product. An optional "id" renames a stored element or sets the id of
a new one.`;

const SCHEMA_NOTE = `
An import also checks that the elements of a list have different names or skus, that each clinic has one primary
location, and that time zones and the references of products exist.`;

export function addCatalogCommands(program: Command, terminal: CliIo): void {
  const catalog = addGroup(program, 'catalog', 'the clinics and products of a tenant');

  const importing = 'import a catalog file; a file with errors changes nothing';
  addTenantCommand(catalog, 'import <file>', importing, ['catalog.json --tenant lakeside'], { notes: FORMAT })
    .option('--dry-run', 'print the changes without importing them')
    .action(async (file, { tenant, dryRun = false, json }) => {
      const text = await readText(file);
      const bar = progressBar(dryRun ? null : terminal.screen);
      const { report, changes } = await withTenant(terminal, tenant, async (context, id) =>
        faultless(file, await importCatalog(context, id, text, { dryRun, progress: bar.progress })),
      ).finally(bar.stop);
      const counts = reportTable(report);
      if (dryRun) print(terminal, json, { ...report, changes }, `${preview(file, changes)}\n${counts}`);
      else print(terminal, json, report, counts);
    });

  const exporting = "print a tenant's catalog, without deleted products, as a JSON file for import";
  addTenantCommand(catalog, 'export', exporting, ['--tenant lakeside > catalog.json']).action(async ({ tenant }) =>
    print(terminal, true, await withTenant(terminal, tenant, exportCatalog), ''),
  );

  const schema = 'print the JSON Schema (2020-12) of a catalog file';
  addCommand(catalog, 'schema', schema, ['> catalog.schema.json'], { notes: SCHEMA_NOTE }).action(() => {
    const standard = (name: string, value: unknown) => (ownKeywords.includes(name) ? undefined : value);
    terminal.out(`${JSON.stringify(catalogSchema, standard, 2)}\n`);
  });
}

function preview(file: string, changes: readonly PlannedChange[]): string {
  const lines = changes.map((change) => remark(file, change, `would be ${change.state}`));
  return [...lines, `${changes.length > 0 ? 'Dry run' : 'Nothing would change'}: nothing was imported.`].join('\n');
}

function reportTable(report: CatalogReport): string {
  const rows = Object.entries(report).map(([kind, { created, updated, deleted, unchanged }]) => {
    return [kind, ...[created, updated, deleted, unchanged].map(String)];
  });
  return table(['', 'CREATED', 'UPDATED', 'DELETED', 'UNCHANGED'], rows);
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
