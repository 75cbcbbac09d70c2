import express, { type RequestHandler, type Router } from 'express';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../packageRoot.js';
import { sendPage } from './sendFile.js';

/** Hash of Redoc's inline script, which sets the color scheme before the page is painted. `make docs` verifies it. */
export const INLINE_SCRIPT = "'sha256-jwomWTwW+cbYvvb/uqmFRuOGL0FhXkaW0iynbO3M6Oc='";

/** Security policy of the reference: scripts and connections only of this service; inline styles, which Redoc adds. */
const DOCS_POLICY =
  `default-src 'none'; script-src 'self' ${INLINE_SCRIPT}; style-src 'unsafe-inline'; img-src data:; font-src data:; ` +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The reference's page and its scripts, by path. `make docs` also writes them compressed. */
const PAGE = {
  '/docs': 'index.html',
  '/docs/contract.js': 'contract.js',
  '/docs/redoc.js': 'redoc.js',
  '/docs/reference.js': 'reference.js',
} as const;

/** The other documents that `make docs` writes, with their media types. */
const DOCUMENTS = {
  'arazzo.yaml': 'application/yaml',
  'changelog.atom': 'application/atom+xml',
  'changelog.md': 'text/markdown',
  'guide.md': 'text/markdown',
  'llms.txt': 'text/plain',
  'postman.json': 'application/json',
  'samples.json': 'application/json',
} as const;

/** The packed client that `make build` writes. */
const CLIENT = 'clinical-encounter-client.tgz';

/** The placeholder for the service's address in these documents and in the contract. */
export const DOCUMENTED_ADDRESS = 'http://127.0.0.1:3000';

/** The endings of compressed files, smallest first. */
const COMPRESSED = { br: '.br', gzip: '.gz' } as const;

/** The members of the bundled contract that depend on where the service runs. */
interface Addressed {
  /** At least one server; the first is this service. */
  servers: [{ url: string }];
  components: {
    securitySchemes: { oauth2: { flows: { clientCredentials: { tokenUrl: string; refreshUrl: string } } } };
  };
}

/** Serves the rendered reference, the bundled contract and the documents made from them. */
export function docsRoutes(service: { readonly baseUrl: string }): Router {
  const router = express.Router();
  router.get('/', (_req, res) => res.redirect('/docs'));
  for (const [path, name] of Object.entries(PAGE)) router.get(path, sendCompressed(name));
  router.get(`/docs/${CLIENT}`, async (_req, res) => {
    res.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-cache' }).type('application/gzip');
    await sendPage(res, built(CLIENT));
  });
  const serve = (path: string, type: string, make: () => string) => router.get(path, sender(type, make));
  serve('/openapi.json', 'application/json', () => addressedContract(service.baseUrl));
  for (const [name, type] of Object.entries(DOCUMENTS)) {
    serve(`/docs/${name}`, type, () => addressed(`docs/${name}`, service.baseUrl));
  }
  return router;
}

/** A file that `make build` wrote. */
const built = (name: string): string => fileURLToPath(new URL(`generated/docs/${name}`, packageRoot));

const sendCompressed =
  (name: string): RequestHandler =>
  async (req, res) => {
    const encoding = (['br', 'gzip'] as const).find((one) => req.acceptsEncodings(one));
    res.set({ 'Content-Security-Policy': DOCS_POLICY, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' });
    res.type(extname(name));
    if (encoding) res.set('Content-Encoding', encoding);
    await sendPage(res, built(encoding ? `${name}${COMPRESSED[encoding]}` : name));
  };

/** Serves a document with the service's own address, for tools on other hosts. All readers share one copy. */
function sender(type: string, make: () => string): RequestHandler {
  let served: Buffer | undefined;
  return (_req, res) => {
    // Create it at the first request, because the address is known only once the server listens.
    served ??= Buffer.from(make());
    res.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-cache' }).type(type).send(served);
  };
}

function addressed(file: string, baseUrl: string): string {
  return readFileSync(new URL(`generated/${file}`, packageRoot), 'utf8').replaceAll(DOCUMENTED_ADDRESS, baseUrl);
}

function addressedContract(baseUrl: string): string {
  const contract = JSON.parse(addressed('openapi.json', baseUrl)) as Addressed;
  const flow = contract.components.securitySchemes.oauth2.flows.clientCredentials;
  contract.servers[0].url = baseUrl;
  flow.tokenUrl = flow.refreshUrl = `${baseUrl}/oauth/token`;
  return `${JSON.stringify(contract, null, 2)}\n`;
}
