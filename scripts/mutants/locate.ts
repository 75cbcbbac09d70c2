import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './list.js';

const root = join(import.meta.dirname, '../..');
const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(folder, path));
const sources = filesIn('src').map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
const testFiles = filesIn('tests').filter((path) => path.endsWith('.test.ts'));

/** Matches the text with any white space and trailing commas, so that Prettier's layout does not matter. */
function pattern(search: string): RegExp {
  const characters = Array.from(search.replaceAll(/\s/g, ''), (character) => {
    const literal = character.replace(/[\\^$.*+?()[\]{}|]/, '\\$&');
    return /[)\]}]/.test(character) ? `,?\\s*${literal}` : literal;
  });
  return new RegExp(characters.join('\\s*'), 'g');
}

/** The file and position that a mutant changes, or what is wrong with the mutant's entry. */
export function locate({ search, replacement, tests }: Mutant) {
  const missing = tests.find((regex) => !testFiles.some((path) => new RegExp(regex).test(path)));
  if (missing !== undefined) return `no test file is called ${missing}`;
  const [only, ...others] = sources.flatMap(({ file, text: before }) =>
    Array.from(before.matchAll(pattern(search)), ({ 0: match, index }) => {
      const after = before.slice(0, index) + replacement + before.slice(index + match.length);
      return { file, before, after };
    }),
  );
  if (!only) return 'its search text is no longer in src';
  return others.length > 0 ? `its search text is in src ${others.length + 1} times` : only;
}
