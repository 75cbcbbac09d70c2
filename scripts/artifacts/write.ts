import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DOCUMENTED_ADDRESS as ADDRESS } from '../../src/http/pages/docs.js';
import { output, readContract, root } from './sources.js';
import { guideText, llmsText } from './texts.js';

/** Writes the files that the service offers under /docs in addition to the reference. */
export async function writeArtifacts(requests: object): Promise<void> {
  const contract = await readContract();
  const source = (name: string): Promise<string> => readFile(join(root, 'openapi', name), 'utf8');
  const files = {
    'arazzo.yaml': (await source('arazzo.yaml')).replace('./openapi.yaml', `${ADDRESS}/openapi.json`),
    'changelog.md': await source('CHANGELOG.md'),
    'guide.md': guideText(contract, await source('info.md')),
    'llms.txt': llmsText(contract),
    'samples.json': JSON.stringify(requests),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(output, name), text);
}
