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
import { addCommand, addGroup } from './command.js';
import { openStore, withDatabase } from './operator.js';
import { addTenantFileCommands } from './tenantFileCommands.js';
import { assertUsage, FOLLOW, print, table, wholeNumber, yesNo } from './output.js';
import type { CliIo } from './cliIo.js';

const SLUG = 'the tenantId in the API: lower-case letters, digits, hyphens (default: derived from the name)';
const LICENSED = 'require a license for claims, reviews, addenda and revocations (see provider import)';

export function addTenantCommands(program: Command, terminal: CliIo): void {
  const tenant = addGroup(program, 'tenant', 'partner organizations');

  addCommand(tenant, 'create', 'create a tenant', ['"Harbor Dental"', '"Lakeside Health" --id lakeside --mode sandbox'])
    .argument('<name>', 'the display name')
    .option('--id <slug>', SLUG)
    .addOption(
      new Option('--mode <mode>', 'live, or a sandbox with the data of the examples')
        .choices(['live', 'sandbox'])
        .default('live'),
    )
    .addOption(
      new Option('--require-licensed-provider <state>', `${LICENSED}; default: on if live`).choices(['on', 'off']),
    )
    .action(async (name, { id = slugOf(name), mode, requireLicensedProvider: required, json }, command) => {
      assertUsage(command, () => {
        assertName('tenant', name);
        assertTenantId(id);
      });
      const wanted = { name, id, mode, requireLicensedProvider: required && required === 'on' };
      const created = await withDatabase(terminal, async (context) =>
        mode === 'live' ? createTenant(context, wanted) : createSandbox(context, wanted, await openStore(terminal)),
      );
      print(terminal, json, shown(created));
    });

  addConfigure(tenant, terminal);
  addActivity(tenant, terminal);
  addTenantFileCommands(tenant, terminal);

  addCommand(tenant, 'list', 'list the tenants').action(async ({ json }) => {
    const tenants = await withDatabase(terminal, listTenants);
    const header = ['ID', 'NAME', 'MODE', 'ACTIVE', 'CURRENCY', 'CREATED'];
    const rows = tenants.map(({ id, name, mode, isActive, currency, createdAt }) => {
      return [id, name, mode, yesNo(isActive), currency, createdAt.toISOString()];
    });
    print(terminal, json, tenants.map(shown), table(header, rows));
  });
}

function addConfigure(tenant: Command, terminal: CliIo): void {
  addCommand(tenant, 'configure', 'change the settings of a tenant', ['lakeside --minimum-age 18 --currency CAD'])
    .argument('<tenant>', 'its id or name')
    .addOption(new Option('--require-licensed-provider <state>', LICENSED).choices(['on', 'off']))
    .addOption(
      new Option('--minimum-age <years>', 'minimum age of patients for treatments that set none').argParser(
        wholeNumber(0, 120),
      ),
    )
    .addOption(
      new Option(
        '--record-retention-years <years>',
        'years after the last decision before a patient can be erased',
      ).argParser(wholeNumber(0, 100)),
    )
    .option('--currency <code>', 'ISO 4217 code of the currency of future orders')
    .action(async (idOrName, { requireLicensedProvider, json, ...others }, command) => {
      const settings = {
        requireLicensedProvider: requireLicensedProvider && requireLicensedProvider === 'on',
        ...others,
      };
      if (Object.values(settings).every((setting) => setting === undefined)) {
        command.error('error: nothing to change: give a setting, see --help');
      }
      assertUsage(command, () => settings.currency && currencyCode(settings.currency));
      const configured = await withDatabase(terminal, (context) => configureTenant(context, idOrName, settings));
      print(terminal, json, shown(configured));
    });
}

/** Adds the commands `tenant deactivate` and `tenant activate`. */
function addActivity(tenant: Command, terminal: CliIo): void {
  const commands = [
    ['deactivate', false, 'block the callers of a tenant and keep its data'],
    ['activate', true, 'accept the callers of a tenant again'],
  ] as const;
  for (const [name, isActive, description] of commands) {
    addCommand(tenant, name, description, ['lakeside'])
      .argument('<tenant>', 'its id or name')
      .action(async (idOrName, { json }) => {
        const changed = await withDatabase(terminal, (context) => setTenantActive(context, idOrName, isActive));
        const state = isActive ? 'active' : 'no longer active';
        print(terminal, json, shown(changed), `${changed.id} is ${state}. ${FOLLOW}`);
      });
  }
}

type Tenant = Awaited<ReturnType<typeof listTenants>>[number];

function shown(tenant: Tenant): object {
  const { id, name, mode, isActive, requireLicensedProvider, minimumAge, recordRetentionYears, currency } = tenant;
  const settings = { requireLicensedProvider, minimumAge, recordRetentionYears, currency };
  return { id, name, mode, isActive, ...settings, createdAt: tenant.createdAt };
}
