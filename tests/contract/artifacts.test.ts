import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { changelogFeed } from '../../scripts/artifacts/feed.js';
import { readContract } from '../../scripts/artifacts/sources.js';
import { packageRoot } from '../../src/packageRoot.js';
import { operations } from '../support/contract.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { isThere, packages } from '../support/optional.js';

const harness = await openHarness();

const python = '/usr/bin/python3';
const parsesXml = isThere(spawnSync(python, ['-V']).status === 0, 'the feed read as XML', packages('python3'));

/** Prints the members of a feed and of its entries, without white space at the ends; fails unless it is well-formed XML. */
const READ_FEED = `
import json, sys
from xml.etree import ElementTree
tag = lambda name: '{http://www.w3.org/2005/Atom}' + name
feed = ElementTree.fromstring(sys.argv[1])
shown = lambda part: {child.tag.split('}')[1]: child.get('href') or ''.join(child.itertext()).strip() for child in part}
print(json.dumps([shown(part) for part in (feed, *feed.findall(tag('entry')))]))
`;

describe('the documents of the service', () => {
  it('are the generated ones with the address of the service', async () => {
    const types = {
      '/docs/arazzo.yaml': 'application/yaml',
      '/docs/changelog.atom': 'application/atom+xml',
      '/docs/changelog.md': 'text/markdown; charset=utf-8',
      '/docs/guide.md': 'text/markdown; charset=utf-8',
      '/docs/operations/createEncounter.md': 'text/markdown; charset=utf-8',
      '/docs/postman.json': 'application/json; charset=utf-8',
      '/docs/samples.json': 'application/json; charset=utf-8',
      '/llms.txt': 'text/plain; charset=utf-8',
      '/llms-full.txt': 'text/plain; charset=utf-8',
    };
    for (const [path, type] of Object.entries(types)) {
      const { status, headers, text } = await call(harness, `GET ${path}`);
      expect([path, status, headers.get('Content-Type')]).toEqual([path, 200, type]);
      const file = `generated/docs/${path.replace(/^\/(docs\/)?/, '')}`;
      const generated = await readFile(new URL(file, packageRoot), 'utf8');
      expect(text).toBe(generated.replaceAll('http://127.0.0.1:3000', harness.baseUrl));
      expect((await call(harness, `HEAD ${path}`)).status).toBe(200);
    }
    expect((await call(harness, 'GET /docs/index.html')).body).toMatchObject({ code: 'route_not_found' });
  });

  it('have a page for each operation, with its permission, parameters and responses', async () => {
    const full = (await call(harness, 'GET /llms-full.txt')).text;
    for (const { operationId, method, path, scopes, parameters, responses } of operations) {
      const { text } = await call(harness, `GET /docs/operations/${operationId}.md`);
      expect(full).toContain(text);
      expect(text).toContain(`\`${method} ${path}\``);
      for (const name of [...scopes, ...parameters.map((parameter) => parameter.name)])
        expect(text).toContain(`\`${name}\``);
      for (const status of Object.keys(responses))
        expect(text).toMatch(new RegExp(`^(## Response ${status}|- ${status} \`\\w+\`: \\w)`, 'm'));
    }
  });

  it('name every operation in llms.txt, and link only to existing pages and headings there and in the guide', async () => {
    const list = (await call(harness, 'GET /llms.txt')).text;
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

(parsesXml ? describe : describe.skip)('changelog.atom', () => {
  async function entriesOf(text: string): Promise<Record<string, string>[]> {
    const { stdout } = await promisify(execFile)(python, ['-c', READ_FEED, text]);
    return JSON.parse(stdout) as Record<string, string>[];
  }

  it('is well-formed XML with an update time', async () => {
    const { text } = await call(harness, 'GET /docs/changelog.atom');
    const [feed] = await entriesOf(text);
    expect(feed?.['updated']).toMatch(/^\d{4}-\d\d-\d\dT00:00:00Z$/);
  });

  it('has one entry per release, newest first, without unreleased changes', async () => {
    const chapters = [
      '# Changes\n\n',
      '## Unreleased\n\nWill be 1.2.0.\n\n',
      '## 1.1.0 (2027-02-01)\n\n### Added\n\n- `getFax` & more.\n\n',
      '## 1.0.0 (2027-01-01)\n\nFirst version.\n',
    ];
    const [feed, ...entries] = await entriesOf(changelogFeed(await readContract(), chapters.join('')));
    expect(entries.map(({ title, updated, content }) => [title, updated, content])).toEqual([
      ['1.1.0', '2027-02-01T00:00:00Z', expect.stringMatching(/^Added\s+getFax & more\.$/)],
      ['1.0.0', '2027-01-01T00:00:00Z', 'First version.'],
    ]);
    const page = 'http://127.0.0.1:3000/docs#/section/changes-of-the-contract';
    expect(entries.map(({ link }) => link)).toEqual([`${page}/1.1.0-(2027-02-01)`, `${page}/1.0.0-(2027-01-01)`]);
    const ids = [feed, ...entries].map((part) => part?.['id']);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^urn:uuid:[\da-f-]{36}$/.test(id ?? ''))).toEqual([]);
    expect(feed?.['updated']).toBe(entries[0]?.['updated']);
  });
});
