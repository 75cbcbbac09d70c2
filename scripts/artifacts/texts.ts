import { DOCUMENTED_ADDRESS as ADDRESS } from '../../src/http/pages/docs.js';
import { operationsOf, type Contract } from './sources.js';

/** The guide as one file. Links between chapters stay in the file; other links lead to the rendered reference. */
export function guideText({ info }: Contract, guide: string): string {
  const text = guide
    .replaceAll(/\]\(#section\/(?:[\w-]+\/)?([\w-]+)\)/g, '](#$1)')
    .replaceAll('](#/', `](${ADDRESS}/docs#/`);
  return `# ${info.title}\n\n${text}\n`;
}

/** The index of the documentation, in the format of llmstxt.org. */
export function llmsText(contract: Contract): string {
  const { info, tags } = contract;
  const operations = operationsOf(contract);
  const sections = tags.map(({ name, description }) => {
    const lines = operations
      .filter((operation) => operation.tags.includes(name))
      .map(({ operationId, method, path, summary }) => {
        const address = `${ADDRESS}/docs#/${name.toLowerCase()}/${operationId.toLowerCase()}`;
        return `- [${operationId}](${address}): \`${method} ${path}\`. ${summary}`;
      });
    return `## ${name}\n\n${description}\n\n${lines.join('\n')}\n`;
  });
  return `# ${info.title}\n\n> ${info.summary}.\n\n${FILES}\n${sections.join('\n')}`;
}

const FILES = `## Documents

- [Guide](${ADDRESS}/docs/guide.md): how to schedule an encounter, tokens, errors, retries, webhooks and the sandbox
- [Contract](${ADDRESS}/openapi.json): every operation, OpenAPI 3.1
- [Workflows](${ADDRESS}/docs/arazzo.yaml): the flow step by step, Arazzo 1.0
- [Postman collection](${ADDRESS}/docs/postman.json): the flow and every operation
- [Changes](${ADDRESS}/docs/changelog.md): what changed for partners
`;
