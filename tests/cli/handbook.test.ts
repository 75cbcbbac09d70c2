import { readdir, readFile } from 'node:fs/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../../src/cli/program.js';
import { variables } from '../../src/configVariables.js';
import { packageRoot } from '../../src/packageRoot.js';

// The commands and variables that the operator's handbook names.

const folder = new URL('scripts/production/', packageRoot);
const textsOf = async (place: URL, ending = ''): Promise<string[]> => {
  const files = (await readdir(place)).filter((name) => name.endsWith(ending));
  return Promise.all(files.map((name) => readFile(new URL(name, place), 'utf8')));
};
/** Lines of blocks, and code within text. */
const code = (await textsOf(folder, '.md')).flatMap((text) => {
  const blocks = [...text.matchAll(/^ *```\w*\n(.*?)^ *```$/gms)].flatMap(([, block = '']) => block.split('\n'));
  return [...blocks, ...[...text.matchAll(/`([^`\n]+)`/g)].map(([, inline = '']) => inline)];
});

const program: CommandUnknownOpts = createProgram(
  { environment: {}, out() {}, err() {}, ask: undefined, screen: null },
  () => {},
);

/** The words of a command line that the program does not know: the name of the command, or options. */
function unknownIn(words: readonly string[]): string[] {
  let command = program;
  let depth = 0;
  for (let next; (next = command.commands.find((each) => each.name() === words[depth])); depth += 1) command = next;
  const options = [...command.options, ...program.options].map(({ long }) => long);
  const unknown = words.filter((word) => word.startsWith('--') && !options.includes(word.split('=')[0]));
  return command.commands.length > 0 ? words.slice(depth, depth + 1) : unknown;
}

it('every ces command of the handbook is a command of the program, with known options', () => {
  const groups = program.commands.map((each) => each.name()).join('|');
  const commands = code.flatMap((line) => {
    const [, words] = /(?:^|[\s/])ces ([a-z].*)$/.exec(line) ?? new RegExp(`^((?:${groups}) .*)$`).exec(line) ?? [];
    return words === undefined ? [] : [words];
  });
  expect(commands.length).toBeGreaterThan(100);
  expect(commands.filter((words) => unknownIn(words.split(/\s+/)).length > 0)).toEqual([]);
});

it('every variable with an underscore that the handbook names is in the configuration, the kit or the Makefile', async () => {
  const others = [
    ...(await textsOf(new URL('kit/', folder))),
    await readFile(new URL('Makefile', packageRoot), 'utf8'),
  ];
  const named = code.flatMap((text) => text.match(/\b[A-Z]+(?:_[A-Z\d]+)+(?=\b|=)/g) ?? []);
  const isKnown = (name: string): boolean => name in variables || others.some((text) => text.includes(name));
  expect([...new Set(named)].filter((name) => !isKnown(name))).toEqual([]);
});
