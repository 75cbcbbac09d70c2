import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { variables } from '../../src/configVariables.js';
import { packageRoot } from '../../src/packageRoot.js';
import { problems } from '../../src/problem.js';
import { contract, operationOf, operations } from '../support/contract.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { rawCall } from '../support/rawHttp.js';

const pathOf = (file: string): string => fileURLToPath(new URL(file, packageRoot));

const harness = await openHarness();

/** `name → its sources` of a Content-Security-Policy. */
function policyOf({ headers }: Answer): Record<string, string[]> {
  const directives = (headers.get('Content-Security-Policy') ?? '').split(';').map((text) => text.trim().split(/\s+/));
  return Object.fromEntries(directives.map(([name = '', ...sources]) => [name, sources]));
}

it('GET / redirects to the reference page', async () => {
  const { status, headers } = await call(harness, 'GET /');
  expect([status, headers.get('Location')]).toEqual([302, '/docs']);
});

/** Documents of the service, each with the maximum of bytes that its Brotli form may have. */
const LIMITS = {
  '/docs': 70_000,
  '/docs/contract.js': 90_000,
  '/docs/redoc.js': 530_000,
  '/docs/reference.js': 10_000,
  '/docs/search.js': 30_000,
  '/workbench': 2_000,
  '/workbench/main.js': 55_000,
  '/workbench/workbench.css': 5_000,
  '/openapi.json': 80_000,
  '/llms.txt': 10_000,
  '/llms-full.txt': 60_000,
  '/docs/arazzo.yaml': 5_000,
  '/docs/changelog.atom': 5_000,
  '/docs/changelog.md': 5_000,
  '/docs/guide.md': 20_000,
  '/docs/operations/createEncounter.md': 10_000,
  '/docs/postman.json': 20_000,
  '/docs/samples.json': 10_000,
};

describe('each document', () => {
  it.each(Object.entries(LIMITS))(
    '%s is sent in the encoding that the reader accepts, as Brotli below its maximum size, and is 304 at the next visit',
    async (target, limit) => {
      const sizes: number[] = [];
      for (const encoding of ['br', 'gzip', 'identity']) {
        const accepted: [string, string] = ['Accept-Encoding', encoding];
        const { headers } = await rawCall(harness, { target, headers: [accepted] });
        expect([headers['vary'], headers['content-encoding'] ?? 'identity']).toEqual(['Accept-Encoding', encoding]);
        sizes.push(Number(headers['content-length']));
        const again = [accepted, ['If-None-Match', headers['etag'] ?? '']] as [string, string][];
        const { status, text } = await rawCall(harness, { target, headers: again });
        expect([status, text]).toEqual([304, '']);
      }
      const [brotli = 0, gzip = 0, plain = 0] = sizes;
      expect([brotli < gzip, gzip < plain, brotli < limit]).toEqual([true, true, true]);
    },
  );

  it.each(['/openapi.json', '/docs/clinical-encounter-client.tgz'])(
    '%s has the same content at the address of its version',
    async (path) => {
      const own = path.replace(/(?=\.\w+$)/, `-${contract.info.version}`);
      const [latest, versioned] = await Promise.all([path, own].map((one) => call(harness, `GET ${one}`)));
      expect([own, versioned?.status, versioned?.text === latest?.text]).toEqual([own, 200, true]);
    },
  );
});

describe('GET /docs', () => {
  it('returns the rendered reference, under a policy that blocks requests to other hosts and scripts that are not its own', async () => {
    const answer = await call(harness, 'GET /docs');
    const { status, headers, text } = answer;
    const types = ['Content-Type', 'X-Content-Type-Options', 'Cache-Control'].map((name) => headers.get(name));
    expect([status, ...types]).toEqual([200, 'text/html; charset=utf-8', 'nosniff', 'no-cache']);
    expect(text).toContain('<title>Clinical Encounter Service</title>');
    expect(policyOf(answer)).toEqual({
      'default-src': ["'none'"],
      'script-src': ["'self'", "'sha256-jwomWTwW+cbYvvb/uqmFRuOGL0FhXkaW0iynbO3M6Oc='"],
      'style-src': ["'unsafe-inline'"],
      'img-src': ['data:'],
      'font-src': ['data:'],
      'connect-src': ["'self'"],
      'frame-ancestors': ["'none'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
    });
    // referencePage.test.ts runs its scripts in a browser.
    const scripts = ['search', 'redoc', 'contract', 'reference'].map((name) => `/docs/${name}.js`);
    const loaded = [...text.matchAll(/<(?:script|img|iframe|source)\b[^>]*\bsrc="(?!data:)([^"]*)"/g)];
    expect(loaded.map(([, url]) => url)).toEqual(scripts);
    for (const target of scripts) {
      const { headers: given } = await rawCall(harness, { target });
      expect([target, given['content-type']]).toEqual([target, 'text/javascript; charset=utf-8']);
    }
    // Browsers do not load an alternate.
    expect(text.match(/<link\b(?! rel="icon" href="data:)[^>]*>/g)).toEqual([
      '<link rel="alternate" type="application/atom+xml" title="Changes of the contract" href="/docs/changelog.atom">',
    ]);
    expect(text.match(/@import|url\(\s*["']?(?:https?:)?\/\//g)).toBeNull();
  });
});

describe('GET /openapi.json', () => {
  it('names the address of the service, so that tools can use a downloaded copy', async () => {
    const { body } = await call(harness, 'GET /openapi.json');
    const { clientCredentials } = body.components.securitySchemes.oauth2.flows;
    expect(body.servers.map(({ url }: { url: string }) => url)).toEqual([harness.baseUrl]);
    expect(body.externalDocs.url).toBe(`${harness.baseUrl}/docs`);
    // Generators copy the description into each of their files, so the guide is in the page only.
    expect(body.info.description.length).toBeLessThan(500);
    expect(clientCredentials.tokenUrl).toBe(`${harness.baseUrl}/oauth/token`);
  });

  it('returns to every origin the contract that the service runs from, with named components', async () => {
    const { status, headers, body } = await call(harness, 'GET /openapi.json');
    const [type, cors] = [headers.get('Content-Type'), headers.get('Access-Control-Allow-Origin')];
    expect([status, type, cors]).toEqual([200, 'application/json; charset=utf-8', '*']);
    expect(body.openapi).toMatch(/^3\.1\./);
    expect(body.info.version).toBe(headers.get('API-Version'));
    const schemas = Object.keys(body.components.schemas);
    expect(schemas).toEqual(expect.arrayContaining(['Clinic', 'Problem', 'ProblemCode', 'TokenRequest']));
    const refs = [...JSON.stringify(body).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref = '']) => ref);
    expect(refs.length).toBeGreaterThan(operations.length);
    expect(refs.filter((ref) => !ref.startsWith('#/components/'))).toEqual([]);
    for (const part of ['paths', 'webhooks'] as const) {
      expect(Object.keys(body[part])).toEqual(Object.keys(contract[part]));
    }
  });

  it("is the address in the guide's command of a mock, which names the version of Prism in tests/package.json", async () => {
    const { devDependencies } = JSON.parse(await readFile(pathOf('tests/package.json'), 'utf8'));
    const program = `npx @stoplight/prism-cli@${devDependencies['@stoplight/prism-cli']}`;
    const guide = await call(harness, 'GET /docs/guide.md');
    expect(guide.text).toContain(`${program} mock ${harness.baseUrl}/openapi.json`);
  });
});

it('scripts/production/configuration.md lists exactly the variables of the configuration, with defaults', async () => {
  const text = await readFile(pathOf('scripts/production/configuration.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `([A-Z][A-Z0-9_]*)` \| ([^|]*) \| [^|]+ \| [^|]+ \|$/gm)];
  const defaults = Object.entries(variables).map(([name, spec]) => [
    name,
    ('default' in spec ? String((spec.default as string | number | undefined) ?? '') : '') || 'none',
  ]);
  expect(rows.map(([, name, fallback]) => [name, fallback])).toEqual(defaults);
});

describe('a number has one value everywhere', () => {
  it('an upload may take 70 s in operation and configuration, which is less than the default of DRAIN_TIMEOUT', () => {
    const { description } = operationOf('uploadPatientDocument');
    expect(/allow\s+for (\d+) seconds/.exec(description)?.[1]).toBe('70');
    const { desc, ...spec } = variables.DRAIN_TIMEOUT;
    expect(/an upload may take (\d+) /.exec(desc ?? '')?.[1]).toBe('70');
    expect('default' in spec && spec.default).toBeGreaterThan(70);
  });

  it('an Idempotency-Key has 1 to 255 characters in each parameter and in the problem text', async () => {
    const keys = operations.flatMap(({ parameters }) => parameters.filter(({ name }) => name === 'Idempotency-Key'));
    const texts = keys.flatMap(({ description, schema }) => [description, JSON.stringify(schema)]);
    const others = [...texts, problems.idempotency_key_invalid.detail].filter(
      (text) => !/1 to 255 printable|\{1,255\}/.test(text),
    );
    expect(others).toEqual([]);
    expect(keys.filter(({ schema }) => 'maxLength' in schema)).toEqual([]);
  });
});
