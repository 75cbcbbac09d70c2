import express, { type RequestHandler, type Router } from 'express';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../packageRoot.js';
import { sendPage } from './sendFile.js';

/** The page is one file with an inline script; it may load nothing else and connect only to this service. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
  "worker-src blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const PAGE = fileURLToPath(new URL('generated/docs/index.html', packageRoot));

/** The other documents that `make docs` writes, with their media types. */
const DOCUMENTS = {
  'arazzo.yaml': 'application/yaml',
  'changelog.atom': 'application/atom+xml',
  'changelog.md': 'text/markdown',
  'guide.md': 'text/markdown',
  'llms.txt': 'text/plain',
  'postman.json': 'application/json',
} as const;

/** The packed client that `make build` writes. */
const CLIENT = 'clinical-encounter-client.tgz';

/** The placeholder for the service's address in these documents and in the contract. */
export const DOCUMENTED_ADDRESS = 'http://127.0.0.1:3000';

/** The compressed pages that `make docs` writes, smallest first. */
const COMPRESSED = { br: `${PAGE}.br`, gzip: `${PAGE}.gz` } as const;

/** The members of the bundled contract that depend on where the service runs. */
interface Addressed {
  /** The service itself, then others. */
  servers: [{ url: string }];
  components: {
    securitySchemes: { oauth2: { flows: { clientCredentials: { tokenUrl: string; refreshUrl: string } } } };
  };
}

/** Serves the rendered reference, the bundled contract and the documents made from them. */
export function docsRoutes(service: { readonly baseUrl: string }): Router {
  const router = express.Router();
  router.get('/', (_req, res) => res.redirect('/docs'));
  router.get('/docs', sendReference);
  router.get(`/docs/${CLIENT}`, async (_req, res) => {
    res.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-cache' }).type('application/gzip');
    await sendPage(res, fileURLToPath(new URL(`generated/docs/${CLIENT}`, packageRoot)));
  });
  const serve = (path: string, type: string, make: () => string) => router.get(path, sender(type, make));
  serve('/openapi.json', 'application/json', () => addressedContract(service.baseUrl));
  for (const [name, type] of Object.entries(DOCUMENTS)) {
    serve(`/docs/${name}`, type, () => addressed(`docs/${name}`, service.baseUrl));
  }
  return router;
}

const sendReference: RequestHandler = async (req, res) => {
  const encoding = (['br', 'gzip'] as const).find((name) => req.acceptsEncodings(name));
  res.set({ 'Content-Security-Policy': DOCS_POLICY, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' });
  res.type('html');
  if (encoding) res.set('Content-Encoding', encoding);
  await sendPage(res, encoding ? COMPRESSED[encoding] : PAGE);
};

/** Serves a document with the service's own address, for tools on other hosts. All readers share one copy. */
function sender(type: string, make: () => string): RequestHandler {
  let served: Buffer | undefined;
  return (_req, res) => {
    // Made on the first request, because the address is known only once the server listens.
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
