import express, { type Router } from 'express';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { packageRoot, version } from '../../packageRoot.js';
import { compressed, documentHandler, type Encoding } from './document.js';

/** Hash of Redoc's inline script, which sets the color scheme before the page is painted. `make docs` verifies it. */
export const INLINE_SCRIPT = "'sha256-jwomWTwW+cbYvvb/uqmFRuOGL0FhXkaW0iynbO3M6Oc='";

/** Security policies of the pages: scripts and connections only of this service, and Redoc's inline styles. */
const POLICIES = {
  docs:
    `default-src 'none'; script-src 'self' ${INLINE_SCRIPT}; style-src 'unsafe-inline'; img-src data:; font-src data:; ` +
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  workbench:
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
};

/** The files of the reference and of the workbench (D-317), by path. `make build` also writes them compressed. */
const PAGES = {
  '/docs': 'index.html',
  '/docs/contract.js': 'contract.js',
  '/docs/redoc.js': 'redoc.js',
  '/docs/reference.js': 'reference.js',
  '/docs/search.js': 'search.js',
  '/workbench': 'workbench/index.html',
  '/workbench/main.js': 'workbench/main.js',
  '/workbench/workbench.css': 'workbench/workbench.css',
} as const;

/** The other documents that `make docs` writes, with their media types. */
const DOCUMENTS = {
  '/llms.txt': 'text/plain',
  '/llms-full.txt': 'text/plain',
  '/docs/arazzo.yaml': 'application/yaml',
  '/docs/changelog.atom': 'application/atom+xml',
  '/docs/changelog.md': 'text/markdown',
  '/docs/guide.md': 'text/markdown',
  '/docs/postman.json': 'application/json',
  '/docs/samples.json': 'application/json',
} as const;

/** The placeholder for the service's address in these documents and in the contract. */
export const DOCUMENTED_ADDRESS = 'http://127.0.0.1:3000';

const ENDINGS: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz', identity: '' };

/** The members of the bundled contract that depend on where the service runs. */
interface Addressed {
  servers: [{ url: string }];
  components: {
    securitySchemes: { oauth2: { flows: { clientCredentials: { tokenUrl: string; refreshUrl: string } } } };
  };
}

/** Serves the reference, the workbench, the bundled contract, the documents made from it, and the packed client. */
export function docsRoutes(service: { readonly baseUrl: string }): Router {
  const router = express.Router();
  router.get('/', (_req, res) => res.redirect('/docs'));
  for (const [path, file] of Object.entries(PAGES)) {
    const policy = path.startsWith('/docs') ? POLICIES.docs : POLICIES.workbench;
    const headers = { 'Content-Security-Policy': policy };
    const read = (encoding: Encoding): Promise<Buffer> => readFile(built(`${file}${ENDINGS[encoding]}`));
    router.get(path, documentHandler(extname(file), headers, read));
  }
  const client = documentHandler('application/gzip', FOR_TOOLS, () => readFile(built(CLIENT)), ['identity']);
  router.get([`/docs/${CLIENT}`, `/docs/${versioned(CLIENT)}`], client);
  const offer = (paths: string[], type: string, make: () => string): unknown =>
    // Make a document at its first request, because the address is known only once the server listens.
    router.get(
      paths,
      documentHandler(type, FOR_TOOLS, (encoding) => compressed(make(), encoding)),
    );
  offer([`/${CONTRACT}`, `/${versioned(CONTRACT)}`], 'application/json', () => addressedContract(service.baseUrl));
  const operations = readdirSync(built('operations')).map((name) => [`/docs/operations/${name}`, 'text/markdown']);
  for (const [path = '', type = ''] of [...Object.entries(DOCUMENTS), ...operations])
    offer([path], type, () => addressed(`docs${path.replace(/^\/docs/, '')}`, service.baseUrl));
  return router;
}

/** Tools on other hosts may read these documents. */
const FOR_TOOLS = { 'Access-Control-Allow-Origin': '*' };

/** The bundled contract, and the packed client that `make build` writes. */
const CONTRACT = 'openapi.json';
const CLIENT = 'clinical-encounter-client.tgz';

/** The file's name with the version: its content never changes, while the plain name leads to the latest version. */
const versioned = (name: string): string => name.replace(/(?=\.\w+$)/, `-${version}`);

/** A file that `make build` wrote. */
const built = (name: string): URL => new URL(`generated/docs/${name}`, packageRoot);

function addressed(file: string, baseUrl: string): string {
  return readFileSync(new URL(`generated/${file}`, packageRoot), 'utf8').replaceAll(DOCUMENTED_ADDRESS, baseUrl);
}

function addressedContract(baseUrl: string): string {
  const contract = JSON.parse(addressed(CONTRACT, baseUrl)) as Addressed;
  const flow = contract.components.securitySchemes.oauth2.flows.clientCredentials;
  contract.servers[0].url = baseUrl;
  flow.tokenUrl = flow.refreshUrl = `${baseUrl}/oauth/token`;
  return `${JSON.stringify(contract, null, 2)}\n`;
}
