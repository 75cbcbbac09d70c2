import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../../src/cli/program.js';
import { refusal } from './operator.js';
import { runProgram } from './runProgram.js';

const program: CommandUnknownOpts = createProgram(
  { environment: {}, out() {}, err() {}, ask: undefined, screen: null },
  () => {},
);
const commands = program.commands.flatMap((each) =>
  each.commands.length > 0 ? each.commands.map((own) => `${each.name()} ${own.name()}`) : [each.name()],
);

const run = (...args: string[]) => runProgram({}, ...args);

describe("the operator's program", () => {
  it.each(commands)('explains "%s" with an example and offers JSON, without a database', async (command) => {
    const { code, stdout, stderr } = await run(...command.split(' '), '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: ces ${command}`);
    expect(stdout).toContain('--json');
    expect(stdout).toMatch(new RegExp(`Example:\n( {2}\\$ .*\n)* {2}\\$ ces ${command}`));
  });

  const newClient = ['client', 'create', '--tenant', 'a'];
  it.each<[string, string[], RegExp?]>([
    ['no command', []],
    ['a group without its command', ['client']],
    ['an unknown command', ['tenants']],
    ['an unknown option', ['tenant', 'list', '--verbose']],
    ['a missing argument', ['tenant', 'create']],
    ['a superfluous argument', ['tenant', 'create', 'a', 'b']],
    ['a missing option', ['client', 'create']],
    ['a value that is not offered', ['tenant', 'create', 'a', '--mode', 'test']],
    ['a command without a change', ['tenant', 'configure', 'a']],
    ['a switch that is neither on nor off', ['tenant', 'configure', 'a', '--require-licensed-provider', 'yes']],
    ['an order without a tenant', ['order', 'cancel', 'ORD-100045']],
    ['a negative --expire-old', ['client', 'rotate-secret', 'ces_a', '--expire-old', '-1']],
    ['an id that is not a slug', ['tenant', 'create', 'Other', '--id', 'Other_1'], /lower-case letters and digits/],
    ['a name that yields no id', ['tenant', 'create', '!'], /Give one with --id/],
    ['a blank name', ['tenant', 'create', ' ', '--id', 'blank'], /A tenant name must have 1 to 255/],
    ['an invalid currency', ['tenant', 'configure', 'a', '--currency', 'dollars'], /"dollars" is not a currency/],
    ['a client without permissions', ['client', 'create', '--tenant', 'a'], /needs at least one permission/],
    ['an unknown permission', [...newClient, '--permissions', 'read:all'], /Unknown permission: read:all/],
    [
      'an invalid clinic id',
      [...newClient, '--preset', 'partner', '--clinic', 'Austin'],
      /The id of a clinic must be a UUID. Correct Austin/,
    ],
  ])('exits with 2 for %s, and leaves standard output empty', async (_misuse, args, message = /./) => {
    const refused = await run(...args);
    expect(refused).toEqual(refusal(2, /^(error:|Usage:)/));
    expect(refused.stderr).toMatch(message);
    expect(refused.stderr).not.toMatch(/\n {4}at /);
  });

  it('prints errors as one line of JSON with --json, for wrong usage and for a wrong configuration', async () => {
    const [misused, groupless, refused] = await Promise.all([
      run('tenant', 'create', '--json'),
      run('client', '--json'),
      runProgram({ BASE_URL: 'http://a.example/x' }, 'tenant', 'list', '--json'),
    ]);
    const message = (code: number, text: string) => refusal(code, `${JSON.stringify({ error: { message: text } })}\n`);
    expect([misused, groupless, refused]).toEqual([
      message(2, "missing required argument 'name'"),
      message(2, "unknown option '--json'"),
      message(1, 'Wrong configuration: BASE_URL must be an absolute http(s) URL without user, path and query.'),
    ]);
  });

  it('warns once about a variable that is probably misspelt, as text and as JSON', async () => {
    const environment = { DATABASE_URL: 'postgres://127.0.0.1:1/none', LOGLEVEL: 'debug' };
    const [asText, asJson] = await Promise.all([
      runProgram(environment, 'tenant', 'list'),
      runProgram(environment, 'tenant', 'list', '--json'),
    ]);
    expect(asText.stderr).toMatch(/^Warning: LOGLEVEL .* LOG_LEVEL\?\nThe database cannot be used now.*\n$/);
    const lines = asJson.stderr.trimEnd().split('\n');
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object))).toEqual([['notice'], ['error']]);
  });
});
