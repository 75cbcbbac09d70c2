import { Option, type Command } from '@commander-js/extra-typings';
import {
  activateApiClient,
  changeApiClient,
  createApiClient,
  deactivateApiClient,
  grantedPermissions,
  idsOf,
  revokeTokens,
  type ClientChange,
} from '../domain/access/apiClients.js';
import { rotateSecret } from '../domain/access/apiClientSecrets.js';
import { permissions, presets, type Preset } from '../domain/access/permissions.js';
import { assertName } from '../domain/access/tenants.js';
import { addClientList, clinicsOf, pharmaciesOf, shown } from './clientView.js';
import { addCommand, addGroup, addTenantCommand } from './command.js';
import { withDatabase } from './operator.js';
import { assertUsage, EXAMPLE_CLIENT, fields, FOLLOW, print, SHOWN_ONCE, wholeNumber } from './output.js';
import type { CliIo } from './cliIo.js';

/** Default of --expire-old: seconds in which callers can change over to a new secret. */
const CHANGEOVER = 7 * 86_400;
const requestLimit = wholeNumber(1, 1_000_000);
const presetList = Object.entries(presets).map(([name, granted]) => `  ${name}: ${granted.join(' ')}\n`);
const NOTES = `
Presets:\n${presetList.join('')}Permissions:\n  ${permissions.join(' ')}

With --json: clientId, clientSecret, permissions.`;
const ROTATION = `
Access tokens stay valid until they expire; \`client revoke-tokens\` ends them.

With --json: clientId, clientSecret, old.`;

export function addClientCommands(program: Command, terminal: CliIo): void {
  const client = addGroup(program, 'client', 'the API clients of a tenant');
  addCreate(client, terminal);
  addUpdate(client, terminal);
  addClientList(client, terminal);
  addSecretCommands(client, terminal);
  addActivity(client, terminal);

  const revoking = 'revoke all tokens; the client obtains new ones with its secret';
  addCommand(client, 'revoke-tokens <client-id>', revoking, [EXAMPLE_CLIENT]).action(async (clientId, { json }) => {
    const tokensValidAfter = await withDatabase(terminal, (context) => revokeTokens(context, clientId));
    const told = `Tokens of ${clientId} from before ${tokensValidAfter.toISOString()} are revoked. ${FOLLOW}`;
    print(terminal, json, { clientId, tokensValidAfter }, told);
  });
}

/** Adds the commands `client deactivate` and `client activate`. */
function addActivity(client: Command, terminal: CliIo): void {
  const commands = [
    ['deactivate', deactivateApiClient, 'block an API client and all its tokens', 'no longer active'],
    ['activate', activateApiClient, 'accept an API client again; it obtains new tokens with its secret', 'active'],
  ] as const;
  for (const [name, change, description, state] of commands) {
    addCommand(client, `${name} <client-id>`, description, [EXAMPLE_CLIENT]).action(async (clientId, { json }) => {
      await withDatabase(terminal, (context) => change(context, clientId));
      print(terminal, json, { clientId, isActive: name === 'activate' }, `${clientId} is ${state}. ${FOLLOW}`);
    });
  }
}

function addCreate(client: Command, terminal: CliIo): void {
  const description = 'create an API client and print its secret, which cannot be shown again';
  const examples = [
    '--tenant lakeside --preset partner --name "EHR sync"',
    '--tenant lakeside --permissions "read:product admin:clinic" --json',
  ];
  addTenantCommand(client, 'create', description, examples, { notes: NOTES })
    .addOption(new Option('--preset <preset>', 'the permissions of a kind of caller').choices(Object.keys(presets)))
    .option(
      '--permissions <list>',
      'permissions in one argument: added to those of --preset, or the only ones without it',
      words,
    )
    .option('--name <name>', 'unique name in the tenant (default: preset and end of the client id)')
    .option('--clinic <id...>', 'limit the client to these clinics (default: every clinic of the tenant)')
    .option('--pharmacy <id...>', 'limit the client to order lines of these pharmacies (default: every pharmacy)')
    .option('--requests-per-minute <number>', "request limit of the client (default: the server's)", requestLimit)
    .action(async ({ preset, clinic: clinics, pharmacy: pharmacies, json, ...given }, command) => {
      const wanted = { ...given, preset: isPreset(preset) ? preset : undefined, clinics, pharmacies };
      assertUsage(command, () => {
        grantedPermissions(wanted, 'live');
        idsOf('clinic', clinics);
        idsOf('pharmacy', pharmacies);
        if (given.name !== undefined) assertName('client', given.name);
      });
      const created = await withDatabase(terminal, (context) => createApiClient(context, wanted));
      const { tenantId, name, clientId, clientSecret, permissions: granted } = created;
      const text = fields({
        tenant: tenantId,
        name,
        'client id': clientId,
        'client secret': clientSecret,
        permissions: granted.join(' '),
        clinics: clinicsOf(created),
        ...pharmaciesOf(created),
      });
      print(terminal, json, { clientId, clientSecret, permissions: granted }, `${text}\n${SHOWN_ONCE}`);
    });
}

function addUpdate(client: Command, terminal: CliIo): void {
  const examples = [
    `${EXAMPLE_CLIENT} --requests-per-minute 6000`,
    `${EXAMPLE_CLIENT} --permissions "read:client" --clinic all`,
  ];
  addCommand(client, 'update <client-id>', 'change the permissions and limits of an API client', examples)
    .option('--permissions <list>', 'replace all permissions by these, in one argument', words)
    .option('--requests-per-minute <number>', 'request limit of the client, or "default" for the server\'s', (text) =>
      text === 'default' ? ('default' as const) : requestLimit(text),
    )
    .option('--clinic <id...>', 'limit the client to these clinics, or "all"')
    .option('--pharmacy <id...>', 'limit the client to order lines of these pharmacies, or "all"')
    .action(async (clientId, { permissions: wanted, requestsPerMinute, clinic, pharmacy, json }, command) => {
      const change: ClientChange = {
        permissions: wanted,
        requestsPerMinute: requestsPerMinute === 'default' ? null : requestsPerMinute,
        clinics: clinic?.join() === 'all' ? null : clinic,
        pharmacies: pharmacy?.join() === 'all' ? null : pharmacy,
      };
      assertUsage(command, () => {
        if (Object.values(change).every((value) => value === undefined))
          throw new Error('Nothing to change. See --help.');
        if (wanted) grantedPermissions({ permissions: wanted }, 'live');
        idsOf('clinic', change.clinics ?? []);
        idsOf('pharmacy', change.pharmacies ?? []);
      });
      const [changed, now] = await withDatabase(terminal, async (context) => [
        await changeApiClient(context, clientId, change),
        context.now(),
      ]);
      print(terminal, json, shown(changed, now), `${clientId} was changed. ${FOLLOW}`);
    });
}

function addSecretCommands(client: Command, terminal: CliIo): void {
  const rotating = 'add a secret and end the old one after a time in which both are valid';
  const examples = [EXAMPLE_CLIENT, `${EXAMPLE_CLIENT} --expire-old 0`];
  const expiring = 'seconds until the old secret ends; 0 for a secret that has leaked';
  addCommand(client, 'rotate-secret <client-id>', rotating, examples, { notes: ROTATION })
    .addOption(new Option('--expire-old <seconds>', expiring).default(CHANGEOVER).argParser(wholeNumber(0, 99_999_999)))
    .action(async (clientId, { expireOld, json }) => {
      const rotated = await withDatabase(terminal, (context) => rotateSecret(context, clientId, expireOld));
      const { clientSecret, old } = rotated;
      const ends = old.map(({ hint, expiresAt }) => `The old secret (…${hint}) ends at ${expiresAt.toISOString()}.`);
      const secret = fields({ 'client id': clientId, 'new secret': clientSecret });
      print(terminal, json, { clientId, clientSecret, old }, [secret, SHOWN_ONCE, ...ends].join('\n'));
    });
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
const isPreset = (name: string | undefined): name is Preset => name !== undefined && name in presets;
