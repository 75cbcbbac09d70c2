import { readFileSync } from 'node:fs';
import { mutants } from '../../scripts/mutants/list.js';
import { locate } from '../../scripts/mutants/locate.js';
import { packageRoot } from '../../src/packageRoot.js';
import { planted } from '../consistency/planted.js';

it('each mutant finds its text in the source once, and its tests', () => {
  expect(
    mutants.map((mutant) => [mutant.name, locate(mutant)]).filter(([, found]) => typeof found === 'string'),
  ).toEqual([]);
});

it('each planted fault finds its text in its file once', () => {
  const occurrences = planted.map(({ name, file, search }) => {
    const text = readFileSync(new URL(`src/${file}`, packageRoot), 'utf8');
    return [name, text.split(search).length - 1];
  });
  expect(occurrences).toEqual(planted.map(({ name }) => [name, 1]));
});
