import { Option, type Command } from '@commander-js/extra-typings';
import { createSandbox } from '../domain/sandbox/reset.js';
import {
  assertName,
  assertTenantId,
  configureTenant,
  createTenant,
  currencyCode,
  listTenants,
  setTenantActive,
  slugOf,
} from '../domain/access/tenants.js';
import { openStore, withDatabase } from './operator.js';
import { assertUsage, example, fields, FOLLOW, print, table, yesNo } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds `tenant create|configure|deactivate|activate|list`. */
export function addTenantCommands(program: Command, terminal: CliIo): void {
  const tenant = program.command('tenant').description('partner organizations').helpCommand(false);
  addCreate(tenant, terminal);
  addConfigure(tenant, terminal);
  addActivity(tenant, terminal, false);
  addActivity(tenant, terminal, true);
  addList(tenant, terminal);
}

function addCreate(tenant: Command, terminal: CliIo): void {
  tenant
    .command('create')
    .description('create a tenant')
    .argument('<name>', 'the display name')
    .option('--id <slug>', 'the tenantId in the API: lower-case letters, digits, hyphens (default: made from the name)')
    .addOption(
      new Option('--mode <mode>', 'live, or a sandbox with the data of the examples')
        .choices(['live', 'sandbox'])
        .default('live'),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', example('tenant create "Lakeside Health" --id lakeside --mode live'))
    .action(async (name, { id = slugOf(name), mode, json }, command) => {
      assertUsage(command, () => {
        assertName('tenant', name);
        assertTenantId(id);
      });
      const created = await withDatabase(terminal, async (context) =>
        mode === 'live'
          ? createTenant(context, { name, id, mode })
          : createSandbox(context, { name, id }, await openStore(terminal)),
      );
      print(terminal, json, shown(created), () => fields({ id: created.id, name: created.name, mode: created.mode }));
    });
}

const LICENSED = 'require a licence for claims and reviews (see provider import)';
/** At most a year. */
const REUSE_MONTHS = Array.from({ length: 12 }, (_, index) => String(index + 1));

function addConfigure(tenant: Command, terminal: CliIo): void {
  tenant
    .command('configure')
    .description('change the settings of a tenant')
    .argument('<tenant>', 'its id or name')
    .addOption(new Option('--gfe-reuse <state>', 'let a valid approval clear a treatment again').choices(['on', 'off']))
    .addOption(new Option('--gfe-reuse-months <months>', 'months for which an approval is valid').choices(REUSE_MONTHS))
    .addOption(new Option('--require-licensed-provider <state>', LICENSED).choices(['on', 'off']))
    .option('--currency <code>', 'ISO 4217 code of the currency of future orders')
    .option('--json', 'print JSON')
    .addHelpText('after', example('tenant configure lakeside --gfe-reuse on --currency CAD'))
    .action(async (idOrName, { gfeReuse, gfeReuseMonths, requireLicensedProvider, currency, json }, command) => {
      if ([gfeReuse, gfeReuseMonths, requireLicensedProvider, currency].every((setting) => setting === undefined)) {
        command.error(
          'error: nothing to change: give --gfe-reuse, --gfe-reuse-months, --require-licensed-provider or --currency',
        );
      }
      assertUsage(command, () => currency && currencyCode(currency));
      const settings = {
        gfeReuse: gfeReuse === undefined ? undefined : gfeReuse === 'on',
        gfeReuseMonths: gfeReuseMonths === undefined ? undefined : Number(gfeReuseMonths),
        requireLicensedProvider: requireLicensedProvider === undefined ? undefined : requireLicensedProvider === 'on',
        currency,
      };
      const configured = await withDatabase(terminal, (context) => configureTenant(context, idOrName, settings));
      print(terminal, json, shown(configured), () =>
        fields({
          id: configured.id,
          'gfe reuse': onOff(configured.gfeReuse),
          'gfe reuse months': String(configured.gfeReuseMonths),
          'licensed providers': onOff(configured.requireLicensedProvider),
          currency: configured.currency,
        }),
      );
    });
}

/** `deactivate` or `activate`. */
function addActivity(tenant: Command, terminal: CliIo, isActive: boolean): void {
  const name = isActive ? 'activate' : 'deactivate';
  tenant
    .command(name)
    .description(isActive ? 'accept the callers of a tenant again' : 'refuse the callers of a tenant and keep its data')
    .argument('<tenant>', 'its id or name')
    .option('--json', 'print JSON')
    .addHelpText('after', example(`tenant ${name} lakeside`))
    .action(async (idOrName, { json }) => {
      const changed = await withDatabase(terminal, (context) => setTenantActive(context, idOrName, isActive));
      const state = isActive ? 'active' : 'no longer active';
      print(terminal, json, shown(changed), () => `${changed.id} is ${state}. ${FOLLOW}`);
    });
}

function addList(tenant: Command, terminal: CliIo): void {
  tenant
    .command('list')
    .description('list the tenants')
    .option('--json', 'print JSON')
    .addHelpText('after', example('tenant list'))
    .action(async ({ json }) => {
      const tenants = await withDatabase(terminal, listTenants);
      const header = ['ID', 'NAME', 'MODE', 'ACTIVE', 'GFE REUSE', 'CURRENCY', 'CREATED'];
      const rows = tenants.map(({ id, name, mode, isActive, gfeReuse, currency, createdAt }) => {
        const created = createdAt.toISOString();
        return [id, name, mode, yesNo(isActive), onOff(gfeReuse), currency, created];
      });
      print(terminal, json, tenants.map(shown), () => table(header, rows));
    });
}

type Tenant = Awaited<ReturnType<typeof listTenants>>[number];

const onOff = (state: boolean): string => (state ? 'on' : 'off');

function shown(tenant: Tenant): object {
  const { id, name, mode, isActive, gfeReuse, gfeReuseMonths, requireLicensedProvider, currency, createdAt } = tenant;
  return { id, name, mode, isActive, gfeReuse, gfeReuseMonths, requireLicensedProvider, currency, createdAt };
}
