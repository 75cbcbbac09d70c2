import { hostname } from 'node:os';
import type { Command } from '@commander-js/extra-typings';
import { readConfig, type Config } from '../config.js';
import { findTenant } from '../domain/access/tenants.js';
import { openBackupStore } from './backup/backupStore.js';
import { assertComplete, readManifest, verifyFiles } from './backup/manifest.js';
import type { CliIo } from './cliIo.js';
import { addCommand } from './command.js';
import { openStore, recordedOn, withAnySchema } from './operator.js';
import { print } from './output.js';
import { exportTenant, importTenant } from './tenantFile.js';

const NOTES = `
The files contain all of the tenant's data: health data, hashes of client secrets and the secrets of webhooks, so that its
clients work after "tenant import". Deactivate the tenant first, or later changes are missing.`;

/** Adds `tenant export` and `import`. */
export function addTenantFileCommands(tenant: Command, terminal: CliIo): void {
  const place = async (url: string) => ({
    url,
    store: await openStore(terminal),
    storeName: nameOfStore(readConfig(terminal.environment)),
  });
  const exporting = 'write the rows and documents of a tenant to a folder, without its audit';
  addCommand(tenant, 'export', exporting, ['lakeside --to /secure/lakeside'], { notes: NOTES })
    .argument('<tenant>', 'its id or name')
    .requiredOption('--to <folder>', 'only its owner can read it; created if missing')
    .action(async (idOrName, { to, json }) => {
      const target = await openBackupStore(terminal, to, true);
      const manifest = await withAnySchema(terminal, ({ ownerUrl: url }) =>
        recordedOn(terminal, url, async (context) =>
          exportTenant(target, (await findTenant(context, idOrName)).id, await place(url)),
        ),
      );
      const { tenant: id, rows, objects, missing } = manifest;
      print(
        terminal,
        json,
        { tenant: id, rows, documents: objects.length, missing },
        `The rows and ${objects.length} documents of ${id} are in ${to}.`,
      );
      assertComplete('export', missing);
    });

  const importing =
    'add an exported tenant to a database that does not have it, as DATABASE_OWNER_URL if the service has a separate role; ' +
    'then run "tenant activate" if it was deactivated';
  addCommand(tenant, 'import', importing, ['--from /secure/lakeside'])
    .requiredOption('--from <folder>', 'the folder of the export')
    .action(async ({ from, json }) => {
      const source = await openBackupStore(terminal, from);
      const manifest = await readManifest(source, true);
      await verifyFiles(source, manifest);
      await withAnySchema(terminal, ({ ownerUrl: url }) =>
        recordedOn(terminal, url, async () => {
          await importTenant(source, manifest, await place(url));
          return { tenant: manifest.tenant };
        }),
      );
      print(terminal, json, { tenant: manifest.tenant, rows: manifest.rows }, `${manifest.tenant} is imported.`);
    });
}

/** A text that names the store of documents: equal for two databases that use one bucket, or one folder of one host. */
const nameOfStore = ({ objectStore, dataDir }: Config): string =>
  objectStore.kind === 's3' ? `${objectStore.endpoint} ${objectStore.bucket}` : `file://${hostname()}${dataDir}`;
