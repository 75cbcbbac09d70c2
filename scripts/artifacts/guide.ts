import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { problems } from '../../src/problem.js';
import { root } from './sources.js';

const PLACE = '<!-- The texts of problems.yaml. -->';

/** The guide, with a section for each problem code. */
export async function readGuide(): Promise<string> {
  const guide = await readFile(join(root, 'openapi/info.md'), 'utf8');
  const sections = Object.entries(problems).map(
    ([code, { status, title, detail }]) => `### ${code}\n\n**${status} ${title}.** ${detail}`,
  );
  return guide.replace(PLACE, () => sections.join('\n\n'));
}
