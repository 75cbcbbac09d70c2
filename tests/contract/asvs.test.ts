import { readFileSync } from 'node:fs';
import { packageRoot } from '../../src/packageRoot.js';

const read = (file: string): string => readFileSync(new URL(file, packageRoot), 'utf8');
const page = read('scripts/production/asvs.md');

/** The cells of each row of the table under a heading. */
function rowsUnder(heading: string): string[][] {
  const [table = ''] = page.split(`## ${heading}\n`)[1]?.split('\n## ') ?? [];
  return table
    .split('\n')
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')))
    .filter(([first = '']) => first.startsWith('V'));
}

it('each requirement of asvs.md that a test shows names the file and the title of an existing test', () => {
  const rows = rowsUnder('Shown by a test');
  const faults = rows.filter(([, , test = '']) => {
    const [, path = '', title = ''] = /^\[.*\]\(\.\.\/\.\.\/(tests\/.*\.test\.ts)\): (.+)$/.exec(test) ?? [];
    return !title || !read(path).includes(title);
  });
  expect(rows.length).toBeGreaterThan(100);
  expect(faults).toEqual([]);
});
