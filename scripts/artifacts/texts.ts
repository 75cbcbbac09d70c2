import { DOCUMENTED_ADDRESS as ADDRESS } from '../../src/http/pages/docs.js';
import { operationsOf, type Contract, type Parameter, type Placed } from './sources.js';

/** Makes links to sections of the guide lead to a Markdown file, and other links to the rendered reference. */
const withLinks = (markdown: string, guide = ''): string =>
  markdown
    .replaceAll(/\]\(#section\/(?:[\w-]+\/)?([\w-]+)\)/g, `](${guide}#$1)`)
    .replaceAll('](#/', `](${ADDRESS}/docs#/`);

/** The guide as one file. */
export const guideText = ({ info }: Contract, guide: string): string => `# ${info.title}\n\n${withLinks(guide)}\n`;

/** An operation as one file: what it means, its parameters, examples and errors. */
export function operationText({ summary, description, method, path, operationId, ...operation }: Placed): string {
  const { security, parameters = [], requestBody, responses } = operation;
  const scopes = security.flatMap((alternative) => Object.values(alternative) as string[]);
  const permission = scopes.length > 0 ? `Permission: \`${scopes.join('` or `')}\`` : 'Needs no token';
  const chapters = [
    `# ${summary}\n\n\`${method} ${path}\` (\`${operationId}\`). ${permission}.\n\n${description}\n`,
    chapter('Parameters', parameters.map(parameterText)),
    chapter('Request', exampleOf(requestBody)),
    ...Object.entries(responses)
      .filter(([, response]) => problemsOf(response).length === 0)
      .map(([status, response]) =>
        chapter(`Response ${status}`, [`${response.description}.\n\n`, ...exampleOf(response)]),
      ),
    chapter(
      'Errors',
      Object.entries(responses).flatMap(([status, response]) =>
        problemsOf(response).map(({ code, text }) => `- ${status} \`${code}\`: ${text}\n`),
      ),
    ),
  ];
  return withLinks(chapters.join(''), `${ADDRESS}/docs/guide.md`);
}

const chapter = (title: string, lines: readonly string[]): string =>
  lines.length > 0 ? `\n## ${title}\n\n${lines.join('')}` : '';

const parameterText = ({ name, in: place, required, description }: Parameter): string =>
  `- \`${name}\` (${place}${required ? ', required' : ''}): ${description}\n`;

type Described = NonNullable<Placed['requestBody']> | Placed['responses'][string];

const examplesIn = ({ content = {} }: Described): unknown[] =>
  Object.values(Object.values(content)[0]?.examples ?? {}).map(({ value }) => value);

/** The first example of a body that is JSON. */
const exampleOf = (described: Described = {}): string[] =>
  examplesIn(described)
    .filter((value) => typeof value === 'object')
    .slice(0, 1)
    .map((value) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\`\n`);

/** The problems among a response's examples. The detail of `validation_failed` is about one request. */
const problemsOf = (response: Described): { readonly code: string; readonly text: string | undefined }[] =>
  (examplesIn(response) as Readonly<Record<string, string>>[]).flatMap(({ code, title, detail, error, ...others }) => {
    if (code) return { code, text: code === 'validation_failed' ? title : detail };
    return error ? { code: error, text: others['error_description'] } : [];
  });

/** The index of the documentation, in the format of llmstxt.org. */
export function llmsText(contract: Contract): string {
  const { info, tags } = contract;
  const operations = operationsOf(contract);
  const sections = tags.map(({ name, description }) => {
    const lines = operations
      .filter((operation) => operation.tags.includes(name))
      .map(({ operationId, method, path, summary }) => {
        const address = `${ADDRESS}/docs/operations/${operationId}.md`;
        return `- [${operationId}](${address}): \`${method} ${path}\`. ${summary}`;
      });
    return `## ${name}\n\n${description}\n\n${lines.join('\n')}\n`;
  });
  return `# ${info.title}\n\n> ${info.summary}.\n\n${FILES}\n${sections.join('\n')}`;
}

const FILES = `## Documents

- [Guide](${ADDRESS}/docs/guide.md): how to schedule an encounter, tokens, errors, retries, webhooks and the sandbox
- [Guide and operations](${ADDRESS}/llms-full.txt): in one file
- [Contract](${ADDRESS}/openapi.json): every operation, OpenAPI 3.1
- [Workflows](${ADDRESS}/docs/arazzo.yaml): the flow step by step, Arazzo 1.0
- [Postman collection](${ADDRESS}/docs/postman.json): the flow and every operation
- [Changes](${ADDRESS}/docs/changelog.md): what changed for partners
`;
