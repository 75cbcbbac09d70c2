import { Option, type Command } from '@commander-js/extra-typings';
import { createTenant, listTenants } from '../domain/tenants.js';
import { withDatabase } from './operator.js';
import { example, fields, print, table } from './output.js';
import type { Terminal } from './terminal.js';

/** Adds `tenant create` and `tenant list`. */
export function addTenantCommands(program: Command, terminal: Terminal): void {
  const tenant = program.command('tenant').description('partner organisations').helpCommand(false);

  tenant
    .command('create')
    .description('create a tenant')
    .argument('<name>', 'its name, for people')
    .option(
      '--id <slug>',
      'its id in the API (tenantId): lower-case letters, digits, hyphens (default: made from the name)',
    )
    .addOption(
      new Option('--mode <mode>', 'live, or sandbox for trying out').choices(['live', 'sandbox']).default('live'),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', example('tenant create "Lakeside Health" --id lakeside --mode live'))
    .action(async (name, { id, mode, json }) => {
      const created = await withDatabase(terminal, (context) =>
        createTenant(context, { name, id, mode: mode === 'live' ? mode : 'sandbox' }),
      );
      print(terminal, json, shown(created), () => fields({ id: created.id, name: created.name, mode: created.mode }));
    });

  tenant
    .command('list')
    .description('list the tenants')
    .option('--json', 'print JSON')
    .addHelpText('after', example('tenant list'))
    .action(async ({ json }) => {
      const tenants = await withDatabase(terminal, listTenants);
      print(terminal, json, tenants.map(shown), () =>
        table(
          ['ID', 'NAME', 'MODE', 'CREATED'],
          tenants.map(({ id, name, mode, createdAt }) => [id, name, mode, createdAt.toISOString()]),
        ),
      );
    });
}

type Tenant = Awaited<ReturnType<typeof listTenants>>[number];

const shown = ({ id, name, mode, isActive, createdAt }: Tenant): object => ({ id, name, mode, isActive, createdAt });
