import type { Command } from '@commander-js/extra-typings';
import { SingleBar } from 'cli-progress';
import { exportCatalog } from '../domain/catalog/exportCatalog.js';
import { catalogSchema, ownKeywords } from '../domain/catalog/import/catalogSchema.js';
import { importCatalog, type CatalogReport, type PlannedChange } from '../domain/catalog/import/importCatalog.js';
import { faultless, readText, remark } from './files.js';
import { withTenant } from './operator.js';
import { example, print, table } from './output.js';
import type { CliIo } from './cliIo.js';

const FORMAT = `
The file is JSON with any of "clinics", "pharmacies", "categories" and "products"; see prisma/demo/harbor.json
and \`catalog schema\`. The import creates or updates the elements of the file and replaces all their locations,
variants and availability; it leaves other elements as they are. A second import of a file changes nothing.
{ "sku": "…", "isDeleted": true } deletes a product. An optional "id" renames a stored element or sets the id of
a new one.`;

const SCHEMA_NOTE = `
An import also checks that the elements of a list have different names or skus, that each clinic has one primary
location, and that time zones and the references of products exist.`;

/** Adds `catalog import|export|schema`. */
export function addCatalogCommands(program: Command, terminal: CliIo): void {
  const catalog = program.command('catalog').description('the clinics and products of a tenant').helpCommand(false);
  addImport(catalog, terminal);
  addExport(catalog, terminal);
  addSchema(catalog, terminal);
}

function addImport(catalog: Command, terminal: CliIo): void {
  catalog
    .command('import')
    .description('import a catalog file; a file with a fault changes nothing')
    .argument('<file>')
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .option('--dry-run', 'print the changes without importing them')
    .option('--json', 'print JSON')
    .addHelpText('after', FORMAT)
    .addHelpText('after', example('catalog import catalog.json --tenant lakeside'))
    .action(async (file, { tenant, dryRun = false, json }) => {
      const text = await readText(file);
      const bar = progressBar(dryRun ? null : terminal.screen);
      const importing = withTenant(terminal, tenant, async (context, id) =>
        faultless(file, await importCatalog(context, id, text, { dryRun, progress: bar.progress })),
      );
      const { report, changes } = await importing.finally(bar.stop);
      const told = dryRun ? `${preview(file, changes)}\n${reportTable(report)}` : reportTable(report);
      print(terminal, json, dryRun ? { ...report, changes } : report, () => told);
    });
}

function addExport(catalog: Command, terminal: CliIo): void {
  catalog
    .command('export')
    .description("print a tenant's catalog, without deleted products, as a file for import")
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .option('--json', 'print JSON, as without it')
    .addHelpText('after', example('catalog export --tenant lakeside > catalog.json'))
    .action(async ({ tenant }) => {
      print(terminal, true, await withTenant(terminal, tenant, exportCatalog), () => '');
    });
}

function addSchema(catalog: Command, terminal: CliIo): void {
  catalog
    .command('schema')
    .description('print the JSON Schema (2020-12) of a catalog file')
    .option('--json', 'print JSON, as without it')
    .addHelpText('after', SCHEMA_NOTE)
    .addHelpText('after', example('catalog schema > catalog.schema.json'))
    .action(() => {
      const standard = (name: string, value: unknown) => (ownKeywords.includes(name) ? undefined : value);
      terminal.out(`${JSON.stringify(catalogSchema, standard, 2)}\n`);
    });
}

function preview(file: string, changes: readonly PlannedChange[]): string {
  const lines = changes.map((change) => remark(file, change, `would be ${change.state}`));
  return [...lines, `${changes.length > 0 ? 'Dry run' : 'Nothing would change'}: nothing was imported.`].join('\n');
}

function reportTable(report: CatalogReport): string {
  const rows = Object.entries(report).map(([kind, counts]) => {
    const { created, updated, deleted, unchanged } = counts;
    return [kind, ...[created, updated, deleted, unchanged].map(String)];
  });
  return table(['', 'CREATED', 'UPDATED', 'DELETED', 'UNCHANGED'], rows);
}

/** Draws on a screen only: files and pipes get no bar. */
function progressBar(stream: NodeJS.WriteStream | null) {
  if (!stream) return { progress: () => {}, stop: () => {} };
  const format = 'importing {bar} {percentage} % ({value} of {total} rows)';
  const bar = new SingleBar({ stream, clearOnComplete: true, format });
  return {
    progress: (written: number, total: number) => (bar.isActive ? bar.update(written) : bar.start(total, written)),
    stop: () => bar.stop(),
  };
}
