import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { changelogFeed } from './feed.js';
import { readGuide } from './guide.js';
import { postmanCollection } from './postman.js';
import { DOCUMENTED_ADDRESS as ADDRESS } from '../../src/http/pages/docs.js';
import { operationsOf, output, readContract, readWorkflows, root } from './sources.js';
import { guideText, llmsText, operationText } from './texts.js';

/** Writes the texts and data that the service offers in addition to the reference. */
export async function writeArtifacts(requests: object): Promise<void> {
  const contract = await readContract();
  const { workflows } = await readWorkflows();
  const guide = guideText(contract, await readGuide());
  const operations = operationsOf(contract).map((operation): [string, string] => [
    `operations/${operation.operationId}.md`,
    operationText(operation),
  ]);
  const source = (name: string): Promise<string> => readFile(join(root, 'openapi', name), 'utf8');
  const files = {
    'arazzo.yaml': (await source('arazzo.yaml')).replace('./openapi.yaml', `${ADDRESS}/openapi.json`),
    'changelog.atom': changelogFeed(contract, await source('CHANGELOG.md')),
    'changelog.md': await source('CHANGELOG.md'),
    'guide.md': guide,
    'llms.txt': llmsText(contract),
    'llms-full.txt': [guide, ...operations.map(([, text]) => text)].join('\n'),
    ...Object.fromEntries(operations),
    'samples.json': JSON.stringify(requests),
    'postman.json': `${JSON.stringify(postmanCollection(contract, workflows), null, 2)}\n`,
  };
  // Remove old files, because the service offers all files of the folder operations.
  await rm(join(output, 'operations'), { recursive: true, force: true });
  await mkdir(join(output, 'operations'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(output, name), text);
}
