import { describe, expect, it } from '@jest/globals';
import { runProgram } from './runProgram.js';

const commands = [
  'tenant create',
  'tenant configure',
  'tenant list',
  'client create',
  'client list',
  'client rotate-secret',
  'client retire-secret',
  'client deactivate',
  'client revoke-tokens',
  'catalog import',
  'catalog export',
  'catalog schema',
  'order cancel',
  'keys rotate',
  'migrate',
];

/** Names of the commands that a help text lists. */
function listed(help: string): string[] {
  const [, section = ''] = /\nCommands:\n((?: .*\n)*)/.exec(help) ?? [];
  return [...section.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name);
}

const run = (...args: string[]) => runProgram({}, ...args);

describe('the operator’s program', () => {
  it('has exactly the commands that are tested here, and says so in its help', async () => {
    const help = await run('--help');
    expect(help).toMatchObject({ code: 0, stderr: '' });
    const groups = listed(help.stdout);
    const helps = await Promise.all(groups.map((group) => run(group, '--help')));
    const found = helps.flatMap(({ stdout }, index) => {
      const names = listed(stdout).map((name) => `${groups[index]} ${name}`);
      return names.length > 0 ? names : [groups[index]];
    });
    expect(found.sort()).toEqual([...commands].sort());
  });

  it.each(commands)('explains "%s" with an example and offers JSON, without a database', async (command) => {
    const { code, stdout, stderr } = await run(...command.split(' '), '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: npm run --silent cli -- ${command}`);
    expect(stdout).toContain('--json');
    expect(stdout).toMatch(new RegExp(`Example:\n( {2}\\$ .*\n)* {2}\\$ npm run --silent cli -- ${command}`));
  });

  it.each([
    ['no command', []],
    ['a group without its command', ['client']],
    ['an unknown command', ['tenants']],
    ['an unknown option', ['tenant', 'list', '--verbose']],
    ['a missing argument', ['tenant', 'create']],
    ['one argument too many', ['tenant', 'create', 'a', 'b']],
    ['a missing option', ['client', 'create']],
    ['a value that is not offered', ['tenant', 'create', 'a', '--mode', 'test']],
    ['nothing to change', ['tenant', 'configure', 'a']],
    ['a state that is not offered', ['tenant', 'configure', 'a', '--gfe-reuse', 'yes']],
    ['an order of no tenant', ['order', 'cancel', 'ORD-100045']],
    ['too short an overlap', ['client', 'rotate-secret', 'ces_a', '--expire-old', '60']],
  ])('ends with 2 for %s, and prints nothing to standard output', async (_what, args) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^(error:|Usage:)/);
    expect(stderr).not.toMatch(/\n {4}at /);
  });
});
