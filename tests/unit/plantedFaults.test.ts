import { readFileSync } from 'node:fs';
import { mutants } from '../../scripts/mutants/list.js';
import { locate } from '../../scripts/mutants/locate.js';
import { packageRoot } from '../../src/packageRoot.js';
import { planted } from '../consistency/planted.js';

it('each mutant matches its source text exactly once, and its tests exist', () => {
  expect(
    mutants.map((mutant) => [mutant.name, locate(mutant)]).filter(([, found]) => typeof found === 'string'),
  ).toEqual([]);
});

it('each planted fault matches its source text exactly once', () => {
  const occurrences = planted.map(({ name, file, search }) => {
    const text = readFileSync(new URL(`src/${file}`, packageRoot), 'utf8');
    return [name, text.split(search).length - 1];
  });
  expect(occurrences).toEqual(planted.map(({ name }) => [name, 1]));
});
