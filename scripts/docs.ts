/**
 * Renders the contract as one page, generated/docs/index.html, that needs no other host (see its template), and writes
 * it compressed beside it.
 */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { renderMermaidSVG } from 'beautiful-mermaid';
import { codeSamples, type SampledOperation } from './samples.js';

const root = join(import.meta.dirname, '..');
const page = join(root, 'generated/docs/index.html');
const source = join(root, 'generated/docs/reference.json');

/** Redoc shows Mermaid as code: diagrams become images, which the page's policy admits as data. */
const withDiagrams = (markdown: string): string =>
  markdown.replaceAll(/```mermaid\n([\s\S]*?)```/g, (_, diagram: string) => {
    // The font of another host would not be loaded anyway.
    const svg = renderMermaidSVG(diagram).replaceAll(/^ *@import .*$/gm, '');
    const data = Buffer.from(svg).toString('base64');
    return `<img alt="The same as in the table below" src="data:image/svg+xml;base64,${data}" />`;
  });

/** What Redoc shows poorly: an open vocabulary is raw JSON, and a schema that says that it is open has another member. */
const shown = (name: string, value: unknown): unknown => {
  if (name === 'unevaluatedProperties') return undefined;
  if (typeof value !== 'object' || value === null || !('x-extensible-enum' in value)) return value;
  const { 'x-extensible-enum': values, description = '', ...schema } = value as Vocabulary;
  const list = values.map((known) => `\`${known}\``).join(', ');
  return { ...schema, description: `${description}\n\nKnown values: ${list}. More may be added.` };
};

interface Vocabulary {
  readonly description?: string;
  readonly 'x-extensible-enum': readonly string[];
}

interface Contract<Operation> {
  readonly info: { description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const contract = JSON.parse(await readFile(join(root, 'generated/openapi.json'), 'utf8'), shown) as Contract<object>;
const { paths } = JSON.parse(
  await readFile(join(root, 'generated/dereferenced.json'), 'utf8'),
) as Contract<SampledOperation>;
for (const [path, methods] of Object.entries(paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const samples = await codeSamples(method, path, operation);
    Object.assign(contract.paths[path]?.[method] ?? {}, { 'x-codeSamples': samples });
  }
}
const changes = await readFile(join(root, 'openapi/CHANGELOG.md'), 'utf8');
contract.info.description = `${withDiagrams(contract.info.description)}\n\n${changes}`;
await writeFile(source, JSON.stringify(contract));

execFileSync(
  process.execPath,
  [
    join(root, 'node_modules/.bin/redocly'),
    'build-docs',
    source,
    ...['--config', 'openapi/redocly.yaml', '--template', 'openapi/docs-template.hbs'],
    ...['--title', 'Clinical Encounter Service', '--inlineBundle', '--output', page],
  ],
  { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
);

// The vendor's logo is the only thing of another host. The page's policy blocks it; without its address nobody asks.
const html = (await readFile(page, 'utf8')).replaceAll(/https:\/\/cdn\.redoc\.ly\/[^`]*/g, 'data:,');
// Brotli's two highest levels take seconds for a few more percent.
await writeFile(`${page}.br`, brotliCompressSync(html, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
await writeFile(`${page}.gz`, gzipSync(html, { level: constants.Z_BEST_COMPRESSION }));
await writeFile(page, html);
