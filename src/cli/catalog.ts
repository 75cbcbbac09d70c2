import type { Command } from '@commander-js/extra-typings';
import { SingleBar } from 'cli-progress';
import { readFile } from 'node:fs/promises';
import { importCatalog, type Progress } from '../domain/catalogImport.js';
import type { CatalogReport } from '../domain/catalogPlan.js';
import type { JsonFault } from '../domain/jsonDocument.js';
import { findTenant } from '../domain/tenants.js';
import { errorCode } from '../errorCode.js';
import { withDatabase } from './operator.js';
import { example, print, table } from './output.js';
import type { Terminal } from './terminal.js';

const FORMAT = `
The file is JSON with any of "clinics", "pharmacies", "categories" and "products"; see prisma/demo/harbor.json.
What the file names is afterwards as the file says, with all its locations, variants and availability; what it
does not name stays. A second import of the same file changes nothing. With any fault nothing is imported.
{ "sku": "…", "isDeleted": true } deletes a product. An optional "id" fixes the id of something new, or finds
something stored whose name changes.`;

/** Adds `catalog import`. */
export function addCatalogCommands(program: Command, terminal: Terminal): void {
  const catalog = program.command('catalog').description('clinics and products of a tenant').helpCommand(false);

  catalog
    .command('import')
    .description('import a catalog file: all of it or, if it has a fault, nothing')
    .argument('<file>')
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .option('--json', 'print JSON')
    .addHelpText('after', FORMAT)
    .addHelpText('after', example('catalog import catalog.json --tenant lakeside'))
    .action(async (file, { tenant, json }) => {
      const text = await readText(file);
      const result = await withDatabase(terminal, async (context) => {
        const { id } = await findTenant(context, tenant);
        return withProgressBar(terminal, (progress) => importCatalog(context, id, text, progress));
      });
      if ('faults' in result) {
        throw Object.assign(new Error(refusal(file, result.faults)), { faults: result.faults });
      }
      print(terminal, json, result.report, () => reportTable(result.report));
    });
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder, not a file',
  EACCES: 'may not be read',
};

/** @throws Error when the file cannot be read, or is not UTF-8 */
async function readText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    const reason = UNREADABLE[String(errorCode(cause))] ?? `cannot be read: ${String(cause)}`;
    throw new Error(`${file} ${reason}.`, { cause });
  });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error(`${file} is not UTF-8 text.`, { cause: error });
  }
}

/** One line for each fault, in the form that editors and terminals make clickable. */
function refusal(file: string, faults: readonly JsonFault[]): string {
  const lines = faults.map(
    ({ line, column, pointer, message }) => `${file}:${line}:${column}: ${pointer || '/'} ${message}`,
  );
  return [...lines, `${faults.length === 1 ? 'One fault' : `${faults.length} faults`}: nothing was imported.`].join(
    '\n',
  );
}

function reportTable(report: CatalogReport): string {
  const rows = Object.entries(report).map(([kind, { created, updated, deleted, unchanged }]) => [
    kind,
    ...[created, updated, deleted, unchanged].map(String),
  ]);
  return table(['', 'CREATED', 'UPDATED', 'DELETED', 'UNCHANGED'], rows);
}

/** Only on a screen: a file or a pipe gets no bar. */
async function withProgressBar<T>({ screen }: Terminal, work: (progress: Progress) => Promise<T>): Promise<T> {
  if (!screen) return work(() => {});
  const bar = new SingleBar({
    stream: screen,
    clearOnComplete: true,
    format: 'importing {bar} {percentage} % ({value} of {total} rows)',
  });
  try {
    return await work((written, total) => (bar.isActive ? bar.update(written) : bar.start(total, written)));
  } finally {
    bar.stop();
  }
}
