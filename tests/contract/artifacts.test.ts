import { execFile, spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { operations } from '../support/contract.js';
import { useHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { isThere, packages } from '../support/optional.js';

const harness = useHarness();

const python = '/usr/bin/python3';
const parsesXml = isThere(spawnSync(python, ['-V']).status === 0, 'the feed read as XML', packages('python3'));

/** Prints the members of a feed's entries, without white space at the ends; fails if it is not well-formed XML. */
const READ_FEED = `
import json, sys
from xml.etree import ElementTree
tag = lambda name: '{http://www.w3.org/2005/Atom}' + name
feed = ElementTree.fromstring(sys.argv[1])
shown = lambda part: {child.tag.split('}')[1]: child.get('href') or ''.join(child.itertext()).strip() for child in part}
print(json.dumps([shown(part) for part in (feed, *feed.findall(tag('entry')))]))
`;

describe('GET /docs/…', () => {
  it('serves the generated documents with the address of the service', async () => {
    const types = {
      'arazzo.yaml': 'application/yaml',
      'changelog.atom': 'application/atom+xml',
      'changelog.md': 'text/markdown; charset=utf-8',
      'guide.md': 'text/markdown; charset=utf-8',
      'llms.txt': 'text/plain; charset=utf-8',
      'postman.json': 'application/json; charset=utf-8',
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

  (parsesXml ? it : it.skip)('changelog.atom is well-formed XML with one entry per release, newest first', async () => {
    const { text } = await call(harness, 'GET /docs/changelog.atom');
    const { stdout } = await promisify(execFile)(python, ['-c', READ_FEED, text]);
    const [feed, ...entries] = JSON.parse(stdout) as Record<string, string>[];

    const released = await readdir(new URL('generated/released', packageRoot));
    const newest = new Intl.Collator('en', { numeric: true }).compare;
    const versions = released.map((file) => file.replace('.json', '')).sort((a, b) => newest(b, a));
    expect(entries.map(({ title }) => title)).toEqual(versions);

    const ids = [feed, ...entries].map((part) => part?.['id']);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^urn:uuid:[\da-f-]{36}$/.test(id ?? ''))).toEqual([]);
    expect(feed?.['updated']).toBe(entries[0]?.['updated']);
    const changelog = await readFile(new URL('openapi/CHANGELOG.md', packageRoot), 'utf8');
    for (const { title, updated = '', link, content = '' } of entries) {
      const date = /^(\d{4}-\d\d-\d\d)T00:00:00Z$/.exec(updated)?.[1];
      expect(changelog).toContain(`\n## ${title} (${date})\n`);
      expect(link).toBe(`${harness.baseUrl}/docs#/section/changes-of-the-contract/${title}-(${date})`);
      expect(content).not.toMatch(/`|^#|^- /m);
    }
    expect(entries.at(-1)?.['content']).toMatch(
      /^First version\.\s+Access tokens .*Clinics: listClinics\..*getReadiness\.$/s,
    );
  });
});
