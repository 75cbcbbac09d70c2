import { readFile } from 'node:fs/promises';
import { packageRoot } from '../../src/packageRoot.js';

/** The commands of a chapter of the operator's handbook, one text per block. */
export async function commandsOf(chapter: string, from = '', to?: string): Promise<string[]> {
  const text = await readFile(new URL(`scripts/production/${chapter}`, packageRoot), 'utf8');
  const part = text.slice(text.indexOf(from), to === undefined ? undefined : text.indexOf(to));
  return [...part.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, block = '']) => block);
}
