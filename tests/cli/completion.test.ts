import { execFileSync, spawnSync } from 'node:child_process';
import { isThere, packages } from '../support/optional.js';
import { runProgram } from './runProgram.js';

/** What the completion of a shell offers for the last of these words. */
async function offered(shell: 'bash' | 'zsh', ...words: string[]): Promise<string[]> {
  const { stdout } = await runProgram({}, 'completion', shell);
  const typed = words.map((word) => `'${word}'`).join(' ');
  // bashcompinit calls a completion with these options.
  const asZsh = 'emulate -L sh; setopt kshglob noshglob braceexpand;';
  const complete = `try() { ${shell === 'zsh' ? asZsh : ''} COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _ces; }`;
  const start = shell === 'zsh' ? 'autoload -Uz compinit && compinit -D -u\n' : '';
  const script = `${start}${stdout}\n${complete}\ntry\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const flags = shell === 'zsh' ? ['-f'] : ['--norc'];
  const all = execFileSync(shell, [...flags, '-c', script], { encoding: 'utf8' })
    .trimEnd()
    .split('\n');
  // zsh itself chooses the words with the prefix.
  return shell === 'zsh' ? all.filter((word) => word.startsWith(words.at(-1) ?? '')) : all;
}

const hasZsh = isThere(spawnSync('zsh', ['--version']).error === undefined, 'completion in zsh', packages('zsh'));

describe.each(['bash', 'zsh'] as const)('completion %s', (shell) => {
  (shell === 'bash' || hasZsh ? it : it.skip)('offers groups, commands and options that fit the words', async () => {
    expect(await offered(shell, 'ces', 'ten')).toEqual(['tenant']);
    expect(await offered(shell, 'ces', 'tenant', 'con')).toEqual(['configure']);
    expect(await offered(shell, 'ces', 'order', 'cancel', 'ORD-100045', '--')).toEqual([
      '--json',
      '--tenant',
      '--help',
    ]);
    expect(await offered(shell, 'ces', 'catalog', 'import', 'har')).toEqual(shell === 'zsh' ? [] : ['']);
  });
});
