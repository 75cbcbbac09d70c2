import type { Command } from '@commander-js/extra-typings';
import { protectedUrl } from '../../adapters/database/databaseUrl.js';
import { readConfig } from '../../config.js';
import { findTenant } from '../../domain/access/tenants.js';
import { nameOfStore } from '../../runtime/ownCell.js';
import { openBackupStore } from '../backup/backupStore.js';
import { readManifest, verifyFiles } from '../backup/manifest.js';
import type { CliIo } from '../cliIo.js';
import { addCommand } from '../command.js';
import { confirm, confirmable } from '../confirmation.js';
import { openStore, recordedOn, withAnySchema } from '../operator.js';
import { print } from '../output.js';
import { exportTenant, importTenant } from './tenantFile.js';
import { cancelMove, cancelWithoutTarget, checkMove, forgetTenant, moveTenant } from './move.js';

const NOTES = `
MOVE_TO_URL in the environment is the address of the other cell's database, for the role that owns its schema: other users of
this machine could read the password in an option. MOVE_VIA_URL is the address at which the other cell's PostgreSQL reaches
this database, if that is not the owner's.
Both databases need cells with names (CELL), the same migrations and one object store. The tenant works in its cell while its
rows are copied by PostgreSQL's logical replication; then it gets 503 for some seconds. Repeat an interrupted command, or
cancel the move with --cancel. Until "tenant forget", the old cell keeps a copy that nothing can change.`;

const FILE_NOTES = `
The files contain all of the tenant's data: health data, hashes of client secrets and the secrets of webhooks, so that its
clients work after "tenant import". Deactivate the tenant first, or later changes are missing.`;

/** Adds `tenant move`, `forget`, `export` and `import` (ADR 9). */
export function addCellCommands(tenant: Command, terminal: CliIo): void {
  const moving = 'move a tenant to the database of another cell, also while servers run';
  const examples = ['lakeside --dry-run', 'lakeside --yes', 'lakeside --cancel'];
  confirmable(addCommand(tenant, 'move', moving, examples, { notes: NOTES }))
    .argument('<tenant>', 'its id or name')
    .option('--cancel', 'take an unfinished move back')
    .option('--target-lost', 'cancel without the other cell, which no longer exists')
    .action(async (idOrName, { cancel, targetLost, json, ...given }) => {
      if (targetLost) {
        await confirm(terminal, `This opens ${idOrName} here again. It must not be active in another cell.`, given);
        const isDry = given.dryRun === true;
        await withAnySchema(terminal, ({ ownerUrl: from }, log) =>
          recordedOn(terminal, from, async (context) =>
            cancelWithoutTarget(from, (await findTenant(context, idOrName)).id, isDry, log),
          ),
        );
        const text = isDry ? `Dry run: the move of ${idOrName} can be cancelled.` : `${idOrName} stays in this cell.`;
        return print(terminal, json, { cancelled: isDry ? null : idOrName }, text);
      }
      const { moveToUrl, moveViaUrl } = readConfig(terminal.environment);
      if (moveToUrl === null) throw new Error("Set MOVE_TO_URL to the address of the other cell's database.");
      const to = protectedUrl('MOVE_TO_URL', moveToUrl);
      const effect = cancel ? 'cancels the move of' : 'makes requests get 503 for some seconds, and moves';
      await confirm(terminal, `This ${effect} ${idOrName}.`, given);
      await withAnySchema(terminal, async ({ ownerUrl: from }, log) => {
        const run = async (tenantId: string): Promise<void> => {
          if (given.dryRun) {
            const { here, there } = await checkMove({ from, to }, tenantId);
            const text = `Dry run: nothing prevents the move of ${tenantId} from ${here.name} to ${there.name}.`;
            print(terminal, json, { from: here.name, to: there.name }, text);
          } else if (cancel) {
            await cancelMove({ from, to }, tenantId, log);
            print(terminal, json, { cancelled: tenantId }, `${tenantId} stays in this cell.`);
          } else {
            const { closedSeconds, audit } = await moveTenant({ from, to }, tenantId, {
              ...(moveViaUrl !== null && { via: protectedUrl('MOVE_VIA_URL', moveViaUrl) }),
              log,
            });
            const text = `${tenantId} has moved: unavailable for ${closedSeconds.toFixed(1)} s, ${audit} rows of the audit appended. Erasures do not reach the old copy: delete it soon with "tenant forget" here.`;
            print(terminal, json, { moved: tenantId, closedSeconds, audit }, text);
          }
        };
        // Record the command in the audit of both cells.
        await recordedOn(terminal, from, async (context) => {
          const { id } = await findTenant(context, idOrName);
          await (given.dryRun ? run(id) : recordedOn(terminal, to, () => run(id)));
        });
      });
    });

  const forgetting = 'delete the rows of a tenant that has moved to another cell; its audit stays';
  confirmable(addCommand(tenant, 'forget', forgetting, ['lakeside --yes']))
    .argument('<tenant>', 'its id')
    .action(async (id, { json, ...given }) => {
      await confirm(terminal, `This deletes the rows of ${id} in this database irreversibly.`, given);
      const deleted = await withAnySchema(terminal, ({ ownerUrl: url }, log) =>
        recordedOn(terminal, url, () => forgetTenant(url, id, given.dryRun === true, log)),
      );
      print(terminal, json, { deleted }, given.dryRun ? `Dry run: ${id} lives elsewhere.` : `${deleted} rows deleted.`);
    });

  const place = async (url: string) => ({
    url,
    store: await openStore(terminal),
    storeName: nameOfStore(readConfig(terminal.environment)),
  });
  const exporting = 'write the rows and documents of a tenant to a folder or bucket, without its audit';
  addCommand(tenant, 'export', exporting, ['lakeside --to /secure/lakeside'], { notes: FILE_NOTES })
    .argument('<tenant>', 'its id or name')
    .requiredOption(
      '--to <address>',
      'the folder, which only its owner can read, created if missing; or s3://bucket/prefix',
    )
    .action(async (idOrName, { to, json }) => {
      const target = await openBackupStore(terminal, to, true);
      const {
        tenant: id,
        rows,
        objects,
        missing,
      } = await withAnySchema(terminal, ({ ownerUrl: url }) =>
        recordedOn(terminal, url, async (context) =>
          exportTenant(target, (await findTenant(context, idOrName)).id, await place(url)),
        ),
      );
      print(terminal, json, { tenant: id, rows, documents: objects.length, missing }, `${id} is in ${to}.`);
      if (missing.length > 0)
        throw new Error(
          `The export lacks these objects, which are missing or damaged in the object store: ${missing.join(', ')}.`,
        );
    });

  addCommand(tenant, 'import', 'add an exported tenant to a database that does not have it', [
    '--from /secure/lakeside',
  ])
    .requiredOption('--from <address>', 'the folder or s3://bucket/prefix of the export')
    .action(async ({ from, json }) => {
      const source = await openBackupStore(terminal, from);
      const manifest = await readManifest(source, true);
      await verifyFiles(source, manifest);
      await withAnySchema(terminal, ({ ownerUrl: url }) =>
        recordedOn(terminal, url, async () => importTenant(source, manifest, await place(url))),
      );
      print(terminal, json, { tenant: manifest.tenant, rows: manifest.rows }, `${manifest.tenant} is imported.`);
    });
}
