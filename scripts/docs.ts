/**
 * Renders the contract as a page, generated/docs/index.html, with its scripts (D-331), and writes each also in compressed
 * form. Also writes the documents of scripts/artifacts.
 */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { buildSync } from 'esbuild';
import { writeArtifacts } from './artifacts/write.js';
import { readGuide } from './artifacts/guide.js';
import { operationsOf, readContract } from './artifacts/sources.js';
import { MERMAID, svgOf } from './diagrams.js';
import { separated } from './redoc.js';
import { codeSamples, sampleRequest, type SampleRequest } from './samples.js';
import { searchIndex } from './searchIndex.js';
import { writePage } from './writePage.js';

const root = join(import.meta.dirname, '..');
const page = join(root, 'generated/docs/index.html');
const source = join(root, 'generated/docs/reference.json');
const template = 'openapi/docs-template.hbs';

/** Replaces Mermaid diagrams, which Redoc would show as code, with images as data, which the page's policy allows. */
const withDiagrams = (markdown: string): string =>
  markdown.replaceAll(MERMAID, (_, diagram: string) => {
    const transitions = [...diagram.matchAll(/^ *(.*) --> (.*)$/gm)].map(([, from, to]) => `${from} to ${to}`);
    const alt = transitions.join('; ').replaceAll('[*]', 'start');
    const images = Object.entries(SCHEMES).map(([scheme, colors]) => {
      // Write the SVG as text, which compresses to half the size of Base64.
      const data = encodeURIComponent(svgOf(diagram, colors)).replaceAll('%20', ' ');
      return `<img class="${scheme}" alt="States: ${alt}" src="data:image/svg+xml,${data}" />`;
    });
    return `<div class="diagram" tabindex="0">${images.join('')}</div>`;
  });

/** Colors of diagrams for light and dark mode. The page's template hides the images of the other mode. */
const SCHEMES = {
  light: { bg: '#ffffff', fg: '#27272a', muted: '#52525b', line: '#71717a' },
  dark: { bg: '#22242b', fg: '#e8e8ee', muted: '#c4c4cc', line: '#9a9aa5' },
};

/** Headers that many responses have: the reference omits them, because the guide describes them once. */
const COMMON_HEADERS = new Set([
  'X-Request-Id',
  'API-Version',
  'RateLimit-Policy',
  'RateLimit',
  'Cache-Control',
  'Idempotent-Replayed',
]);

/**
 * Rewrites what Redoc would show badly: open vocabularies (as raw JSON), open schemas (with an additional member), and
 * regular expressions, which descriptions explain anyway. Removes the common headers of responses, and lists of headers that
 * become empty.
 */
const shown = (name: string, value: unknown): unknown => {
  if (name === 'unevaluatedProperties' || name === 'pattern' || COMMON_HEADERS.has(name)) return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (name === 'headers' && Object.keys(value).length === 0) return undefined;
  if (!('x-extensible-enum' in value)) return value;
  const { 'x-extensible-enum': values, description = '', ...schema } = value as Vocabulary;
  const list = values.map((known) => `\`${known}\``).join(', ');
  return { ...schema, description: `${description}\n\nKnown values: ${list}. More may be added.` };
};

interface Vocabulary {
  readonly description?: string;
  readonly 'x-extensible-enum': readonly string[];
}

const read = async (file: string, reviver?: typeof shown): Promise<unknown> =>
  JSON.parse(await readFile(join(root, file), 'utf8'), reviver);

const contract = (await read('generated/openapi.json', shown)) as {
  readonly info: { description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly webhooks: object;
};

/** The sample requests that the page can send, by the section of their operation. */
const requests: Record<string, SampleRequest> = {};
const operations = operationsOf(await readContract());
for (const operation of operations) {
  const [method, path] = [operation.method.toLowerCase(), operation.path];
  requests[`/${operation.tags[0]}/${operation.operationId}`.toLowerCase()] = sampleRequest(method, path, operation);
  const samples = await codeSamples(method, path, operation);
  // Repeat method and path in the text, because narrow pages show their panel far below.
  const markdown = `[Markdown](/docs/operations/${operation.operationId}.md)`;
  const description = `\`${operation.method} ${path}\` · ${markdown}\n\n${operation.description}`;
  Object.assign(contract.paths[path]?.[method] ?? {}, { description, 'x-codeSamples': samples });
}

// Use the page's icon as Redoc's logo.
const [, icon] = /rel="icon" href="([^"]+)"/.exec(await readFile(join(root, template), 'utf8')) ?? [];
Object.assign(contract.info, { 'x-logo': { url: icon, altText: 'Clinical Encounter Service' } });
// Remove the link to further documentation, which is this page itself.
Object.assign(contract, { externalDocs: undefined });

const changes = await readFile(join(root, 'openapi/CHANGELOG.md'), 'utf8');
const guide = await readGuide();
// Make the kinds of changes bold text: as headings, they would have the same link in every version.
contract.info.description = `${withDiagrams(guide)}\n\n${changes.replaceAll(/^### (.*)$/gm, '**$1**')}`;
// Redoc's menu knows only links with a slash after the hash.
await writeFile(source, JSON.stringify(contract).replaceAll('](#section/', '](#/section/'));

execFileSync(
  process.execPath,
  [
    join(root, 'node_modules/.bin/redocly'),
    'build-docs',
    source,
    ...['--config', 'openapi/redocly.yaml', '--template', template],
    ...['--title', 'Clinical Encounter Service', '--inlineBundle', '--output', page],
  ],
  { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
);

const { html, scripts } = separated(await readFile(page, 'utf8'));
const { outputFiles } = buildSync({
  entryPoints: { reference: join(root, 'src/reference/main.ts'), search: join(root, 'src/reference/search.ts') },
  outdir: '/',
  define: { SECTIONS: JSON.stringify(searchIndex(html, operations, Object.keys(contract.webhooks))) },
  ...{ bundle: true, minify: true, write: false, format: 'esm', target: 'es2022' },
});
const own = outputFiles.map(({ path, text }): [string, string] => [basename(path), text]);
const files = [...Object.entries(scripts), ...own];
await Promise.all([writeArtifacts(requests), ...files.map(([name, text]) => writePage(name, text))]);
// The Makefile's target comes last, so that an interrupted build runs again.
await writePage('index.html', html);
