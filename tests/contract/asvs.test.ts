import { readFileSync } from 'node:fs';
import { packageRoot } from '../../src/packageRoot.js';

const read = (file: string): string => readFileSync(new URL(file, packageRoot), 'utf8');
const page = read('scripts/production/asvs.md');

interface Row {
  readonly numbers: readonly string[];
  readonly cells: readonly string[];
}

/** The rows of the table under a heading. */
function rowsUnder(heading: string): Row[] {
  const [table = ''] = page.split(`## ${heading}\n`)[1]?.split('\n## ') ?? [];
  return table
    .split('\n')
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')))
    .filter(([first = '']) => first.startsWith('V'))
    .map(([first = '', ...cells]) => ({ numbers: first.split(', ').flatMap(numbersOf), cells }));
}

/** The numbers of a range like V6.2.1–12. */
function numbersOf(range: string): string[] {
  const [, section = '', first, last = first] = /^(V\d+\.\d+\.)(\d+)(?:–(\d+))?$/.exec(range) ?? [];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, index) => `${section}${Number(first) + index}`);
}

const shown = rowsUnder('Shown by a test');

it('each requirement of asvs.md that a test shows names the file and the title of an existing test', () => {
  const faults = shown.filter(({ cells: [, test = ''] }) => {
    const [, path = '', title = ''] = /^\[.*\]\(\.\.\/\.\.\/(tests\/.*\.test\.ts)\): (.+)$/.exec(test) ?? [];
    return !title || !read(path).includes(title);
  });
  expect(faults).toEqual([]);
});
