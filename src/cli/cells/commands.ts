import type { Command } from '@commander-js/extra-typings';
import { protectedUrl } from '../../adapters/database/databaseUrl.js';
import { findTenant } from '../../domain/access/tenants.js';
import type { CliIo } from '../cliIo.js';
import { addCommand } from '../command.js';
import { confirm, confirmable } from '../confirmation.js';
import { recordedOn, withAnySchema } from '../operator.js';
import { print } from '../output.js';
import { cancelMove, checkMove, forgetTenant, moveTenant } from './move.js';

const TO = '"postgresql://ces_owner@cell-b/ces?sslmode=verify-full"';
const NOTES = `
Both databases need cells with names (CELL), the same migrations and one object store. The tenant works in its cell while its
rows are copied by PostgreSQL's logical replication; then it gets 503 for some seconds. Repeat an interrupted command, or
take the move back with --cancel. Until "tenant forget", the old cell keeps a copy that nothing can change.`;

/** Adds `tenant move` and `tenant forget` (D-324). */
export function addCellCommands(tenant: Command, terminal: CliIo): void {
  const moving = 'move a tenant to the database of another cell, also while servers run';
  const examples = [`lakeside --to ${TO} --dry-run`, `lakeside --to ${TO} --yes`, `lakeside --to ${TO} --cancel`];
  confirmable(addCommand(tenant, 'move', moving, examples, { notes: NOTES }))
    .argument('<tenant>', 'its id or name')
    .requiredOption('--to <url>', "the other cell's database, for the role that owns its schema")
    .option('--via <url>', "how the other cell's PostgreSQL reaches this database (default: the owner's address)")
    .option('--cancel', 'take an unfinished move back')
    .action(async (idOrName, { to: target, via, cancel, json, ...given }) => {
      const to = protectedUrl('--to', target);
      const effect = cancel ? 'takes back the move of' : 'makes requests get 503 for some seconds, and moves';
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
            const { closedSeconds, audit } = await moveTenant({ from, to }, tenantId, { via, log });
            const text = `${tenantId} has moved: ${closedSeconds.toFixed(1)} s without a cell, ${audit} rows of the audit appended.`;
            print(terminal, json, { moved: tenantId, closedSeconds, audit }, text);
          }
        };
        // Both cells have the command in their audit.
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
      await confirm(terminal, `This deletes the rows of ${id} in this database for good.`, given);
      const deleted = await withAnySchema(terminal, ({ ownerUrl: url }, log) =>
        recordedOn(terminal, url, () => forgetTenant(url, id, given.dryRun === true, log)),
      );
      print(terminal, json, { deleted }, given.dryRun ? `Dry run: ${id} lives elsewhere.` : `${deleted} rows deleted.`);
    });
}
