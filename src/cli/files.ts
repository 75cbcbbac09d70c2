import { readFile } from 'node:fs/promises';
import type { JsonFault } from '../domain/catalog/import/jsonDocument.js';
import { messageOf } from '../failures.js';

/** Reads a text file. @throws Error if the file cannot be read, or is not UTF-8 */
export async function readText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new Error(`${file} cannot be read: ${messageOf(cause)}. Correct its path or its rights.`, { cause });
  });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error(`${file} is not UTF-8 text. Save it as UTF-8.`, { cause: error });
  }
}

/** Returns a faultless result. @throws Error with a line for each fault, as file:line:column, which editors link */
export function faultless<Result extends object>(
  file: string,
  result: Result | { readonly faults: readonly JsonFault[] },
) {
  if (!('faults' in result)) return result;
  const { faults } = result;
  const lines = faults.map(
    ({ line, column, pointer, message }) => `${file}:${line}:${column}: ${pointer || '/'} ${message}`,
  );
  const count = faults.length === 1 ? 'One fault' : `${faults.length} faults`;
  throw Object.assign(
    new Error([...lines, `${count}: nothing was imported. Correct the file, then import it again.`].join('\n')),
    { faults },
  );
}
