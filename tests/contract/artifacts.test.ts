import { readFile } from 'node:fs/promises';
import { packageRoot } from '../../src/packageRoot.js';
import { operations } from '../support/contract.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();

describe('GET /docs/…', () => {
  it('serves the generated documents with the address of the service', async () => {
    const types = {
      'arazzo.yaml': 'application/yaml',
      'changelog.md': 'text/markdown; charset=utf-8',
      'guide.md': 'text/markdown; charset=utf-8',
      'llms.txt': 'text/plain; charset=utf-8',
      'samples.json': 'application/json; charset=utf-8',
    };
    for (const [name, type] of Object.entries(types)) {
      const { status, headers, text } = await call(harness, `GET /docs/${name}`);
      expect([name, status, headers.get('Content-Type')]).toEqual([name, 200, type]);
      const generated = await readFile(new URL(`generated/docs/${name}`, packageRoot), 'utf8');
      expect(text).toBe(generated.replaceAll('http://127.0.0.1:3000', harness.baseUrl));
      expect((await call(harness, `HEAD /docs/${name}`)).status).toBe(200);
    }
    expect((await call(harness, 'GET /docs/index.html')).body).toMatchObject({ code: 'route_not_found' });
  });

  it('names every operation in llms.txt, and links only to existing pages and headings there and in the guide', async () => {
    const list = (await call(harness, 'GET /docs/llms.txt')).text;
    const guide = (await call(harness, 'GET /docs/guide.md')).text;
    const named = [...list.matchAll(/^- \[(\w+)\]\(.*`[A-Z]+ /gm)].map(([, id]) => id);
    expect(named.sort()).toEqual(operations.map(({ operationId }) => operationId).sort());

    const links = [...`${list}${guide}`.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    const headings = [...guide.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    const missing = links.filter((link) => link.startsWith('#') && !headings.includes(link.slice(1)));
    expect(missing).toEqual([]);
    const pages = links.map((link) => link.replace(/^\//, `${harness.baseUrl}/`).replace(/#.*/, ''));
    for (const page of new Set(pages.filter((link) => link.startsWith(harness.baseUrl)))) {
      expect([page, (await fetch(page)).status]).toEqual([page, 200]);
    }
  });
});
