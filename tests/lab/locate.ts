import { readdirSync, readFileSync } from 'node:fs';
import { packageRoot } from '../../src/packageRoot.js';
import type { Planted } from './planted.js';

const testFiles = readdirSync(new URL('tests', packageRoot), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => `tests/${path}`);

/** Matches the text with any white space and trailing commas, so that the layout of the code does not matter. */
function pattern(search: string): RegExp {
  const characters = Array.from(search.replaceAll(/\s/g, ''), (character) => {
    const literal = character.replace(/[\\^$.*+?()[\]{}|]/, '\\$&');
    return /[)\]}]/.test(character) ? `,?\\s*${literal}` : literal;
  });
  return new RegExp(characters.join('\\s*'), 'g');
}

/** The source of a file with its fault. @throws Error if the entry of the list is out of date */
export function broken({ name, where, break: [search, replacement], noticedBy }: Planted): string {
  const missing = [noticedBy]
    .flat()
    .find((test) => test !== 'auditor' && !testFiles.some((path) => path.includes(test)));
  if (missing !== undefined)
    throw new Error(`${name}: no test file has ${missing} in its path. Correct noticedBy in tests/lab/planted*.ts.`);
  const source = readFileSync(new URL(`src/${where}`, packageRoot), 'utf8');
  const places = [...source.matchAll(pattern(search))].length;
  if (places !== 1)
    throw new Error(
      `${name}: src/${where} has the text of this break ${places} times, not once. Correct it in tests/lab/planted*.ts.`,
    );
  return source.replace(pattern(search), () => replacement);
}
