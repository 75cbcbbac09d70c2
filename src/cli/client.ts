import { Option, type Command } from '@commander-js/extra-typings';
import {
  createApiClient,
  deactivateApiClient,
  grantedPermissions,
  idsOf,
  revokeTokens,
} from '../domain/access/apiClients.js';
import { permissions, presets, type Preset } from '../domain/access/permissions.js';
import { assertName } from '../domain/access/tenants.js';
import { addUpdate, requestsPerMinute } from './clientLimit.js';
import { addSecretCommands } from './clientSecret.js';
import { addViewCommands, clinicsOf, pharmaciesOf } from './clientView.js';
import { withDatabase } from './operator.js';
import { assertUsage, example, EXAMPLE_CLIENT, fields, FOLLOW, print, SHOWN_ONCE } from './output.js';
import type { CliIo } from './cliIo.js';

/** Adds `client create|update|list|show|rotate-secret|retire-secret|deactivate|revoke-tokens`. */
export function addClientCommands(program: Command, terminal: CliIo): void {
  const client = program.command('client').description('the API clients of a tenant').helpCommand(false);
  addCreate(client, terminal);
  addUpdate(client, terminal);
  addViewCommands(client, terminal);
  addSecretCommands(client, terminal);

  client
    .command('deactivate')
    .description('permanently refuse an API client and all its tokens')
    .argument('<client-id>')
    .option('--json', 'print JSON')
    .addHelpText('after', example(`client deactivate ${EXAMPLE_CLIENT}`))
    .action(async (clientId, { json }) => {
      await withDatabase(terminal, (context) => deactivateApiClient(context, clientId));
      print(terminal, json, { clientId, isActive: false }, () => `${clientId} is no longer active. ${FOLLOW}`);
    });

  client
    .command('revoke-tokens')
    .description('revoke all tokens; the client obtains new ones with its secret')
    .argument('<client-id>')
    .option('--json', 'print JSON')
    .addHelpText('after', example(`client revoke-tokens ${EXAMPLE_CLIENT}`))
    .action(async (clientId, { json }) => {
      const tokensValidAfter = await withDatabase(terminal, (context) => revokeTokens(context, clientId));
      const told = `Tokens of ${clientId} from before ${tokensValidAfter.toISOString()} are revoked. ${FOLLOW}`;
      print(terminal, json, { clientId, tokensValidAfter }, () => told);
    });
}

function addCreate(client: Command, terminal: CliIo): void {
  const presetList = Object.entries(presets)
    .map(([name, granted]) => `  ${name}: ${granted.join(' ')}`)
    .join('\n');
  client
    .command('create')
    .description('create an API client and print its secret, which cannot be shown again')
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .addOption(new Option('--preset <preset>', 'the permissions of a kind of caller').choices(Object.keys(presets)))
    .option('--permissions <list>', 'more permissions in one argument, or all permissions if there is no preset', words)
    .option('--name <name>', 'unique name in the tenant (default: preset and client id)')
    .option('--clinic <id...>', 'limit the client to these clinics (default: every clinic of the tenant)')
    .option('--pharmacy <id...>', 'limit the client to order lines of these pharmacies (default: every pharmacy)')
    .option(
      '--requests-per-minute <number>',
      'request limit of the client (default: that of the server)',
      requestsPerMinute,
    )
    .option('--json', 'print JSON: clientId, clientSecret, permissions')
    .addHelpText('after', `\nPresets:\n${presetList}\nPermissions:\n  ${permissions.join(' ')}`)
    .addHelpText(
      'after',
      example(
        'client create --tenant lakeside --preset partner --name "EHR sync"',
        'client create --tenant lakeside --permissions "read:product admin:clinic" --json',
      ),
    )
    .action(async ({ tenant, preset, permissions: more, name, json, ...limits }, command) => {
      const { clinic: clinics, pharmacy: pharmacies, requestsPerMinute: own } = limits;
      const granted = { preset: isPreset(preset) ? preset : undefined, permissions: more };
      const wanted = { tenant, ...granted, name, clinics, pharmacies, requestsPerMinute: own };
      assertUsage(command, () => {
        grantedPermissions(wanted, 'live');
        idsOf('clinic', clinics);
        idsOf('pharmacy', pharmacies);
        if (name !== undefined) assertName('client', name);
      });
      const created = await withDatabase(terminal, (context) => createApiClient(context, wanted));
      const { clientId, clientSecret, permissions: held } = created;
      const told = fields({
        tenant: created.tenantId,
        name: created.name,
        'client id': clientId,
        'client secret': clientSecret,
        permissions: held.join(' '),
        clinics: clinicsOf(created),
        ...pharmaciesOf(created),
      });
      print(terminal, json, { clientId, clientSecret, permissions: held }, () => `${told}\n${SHOWN_ONCE}`);
    });
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function isPreset(name: string | undefined): name is Preset {
  return name !== undefined && name in presets;
}
