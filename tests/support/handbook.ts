import { readFile } from 'node:fs/promises';
import { packageRoot } from '../../src/packageRoot.js';

/** The blocks of a chapter of the operator's handbook in a language, by default its commands. */
export async function commandsOf(chapter: string, from = '', to?: string, language = 'bash'): Promise<string[]> {
  const text = await readFile(new URL(`scripts/production/${chapter}`, packageRoot), 'utf8');
  const part = text.slice(text.indexOf(from), to === undefined ? undefined : text.indexOf(to));
  return [...part.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block);
}
