import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launch, type Browser, type Page } from 'puppeteer-core';
import { packageRoot } from '../../src/packageRoot.js';
import { plannedRelease } from '../../scripts/since.js';
import { contract, operations } from '../support/contract.js';
import { startHarness, type Harness } from '../support/harness.js';
import { isThere } from '../support/optional.js';
import { call } from '../support/http.js';

/** What the reference shows of the contract. */
interface Document {
  readonly paths: Record<string, Record<string, { readonly tags: string[]; readonly summary: string }>>;
  readonly webhooks: Document['paths'];
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly target: readonly string[]; readonly html: string }[];
  }[];
}

const pathOf = (file: string): string => fileURLToPath(new URL(file, packageRoot));
const anOperation = '#/encounters/createencounter';

/** Code that is cut off, parts of the page that are wider than it is, and diagrams that are drawn smaller than they are. */
const wideParts = `[
  ...[...document.querySelectorAll('pre')].filter((block) => block.scrollWidth > block.clientWidth + 1),
  ...[document.documentElement].filter((page) => page.scrollWidth > innerWidth),
  ...[...document.querySelectorAll('table')].filter(
    (table) => table.getBoundingClientRect().right > innerWidth && !/auto|scroll/.test(getComputedStyle(table.parentElement).overflowX),
  ),
  ...[...document.querySelectorAll('.diagram img')].filter((image) => image.width < Math.floor(image.naturalWidth)),
].map((part) => part.outerHTML.slice(0, 200))`;

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

const chromium = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const hasChromium = isThere(
  existsSync(chromium),
  'the reference in a browser',
  `${chromium} is not there; CHROMIUM may name one.`,
);
const inBrowser = hasChromium ? describe : describe.skip;

inBrowser('the reference in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch({
      executablePath: chromium,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  }, 60_000);

  afterAll(() => browser.close());

  /** What all pages asked for, and what their consoles say. */
  const asked: string[] = [];
  const complaints: string[] = [];
  const pages = new Map<string, Page>();

  /** A page of the reference, rendered, which takes seconds: the next test gets the same one. */
  async function open(hash = '', { width = 1440, scheme = 'light' } = {}): Promise<Page> {
    const name = `${hash} ${scheme}`;
    const page = pages.get(name) ?? (await load(hash, scheme));
    pages.set(name, page);
    await page.bringToFront();
    await page.setViewport({ width, height: 900 });
    return page;
  }

  async function load(hash: string, scheme: string): Promise<Page> {
    const page = await browser.newPage();
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.setViewport({ width: 1440, height: 900 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.goto(`${harness.baseUrl}/docs${hash}`, { waitUntil: 'networkidle0' });
    await page.waitForSelector('pre');
    return page;
  }

  it('cuts off no code and no table and keeps the text of diagrams readable, on a phone too', async () => {
    for (const [hash, width] of [
      ['', 1440],
      ['', 390],
      [anOperation, 390],
    ] as const) {
      const page = await open(hash, { width });
      expect(await page.evaluate(wideParts)).toEqual([]);
    }
  }, 60_000);

  it('has no serious fault of accessibility, by day and by night', async () => {
    const axe = await readFile(pathOf('node_modules/axe-core/axe.min.js'), 'utf8');
    for (const scheme of ['light', 'dark']) {
      for (const hash of ['', anOperation]) {
        const page = await open(hash, { scheme });
        await page.evaluate(axe);
        const { violations } = (await page.evaluate('axe.run()')) as AxeResults;
        const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
        const faults = serious.flatMap(({ id, nodes }) =>
          nodes.map(({ target, html }) => `${id} ${target.join(' ')} ${html}`),
        );
        expect([scheme, hash, faults]).toEqual([scheme, hash, []]);
      }
    }
  }, 120_000);

  it('shows samples of all operations in the language that was chosen at one, and again at the next visit', async () => {
    const page = await open(anOperation);
    const panel = '.panel-request-samples';
    /** Clicks at the button or item with this text. */
    const choose = async (selector: string, text: string): Promise<void> => {
      const found = `[...document.querySelectorAll('${selector}')].find((one) => one.textContent === '${text}')`;
      await page.waitForFunction(found);
      await page.evaluate(`${found}.click()`);
    };
    const languages = async (): Promise<Set<string>> => {
      await page.waitForSelector(panel);
      const buttons = `[...document.querySelectorAll('${panel}')].map((one) => one.querySelectorAll('button[aria-haspopup]')[1])`;
      return new Set((await page.evaluate(`${buttons}.map((one) => one.textContent)`)) as string[]);
    };
    expect(await languages()).toEqual(new Set(['curl']));
    await choose(`${panel} button`, 'curl');
    await choose('[role=menuitem]', 'TypeScript');
    await page.waitForFunction(`document.querySelector('${panel}').textContent.includes('createClient')`);
    expect(await languages()).toEqual(new Set(['TypeScript']));
    await page.reload({ waitUntil: 'networkidle0' });
    await page.waitForFunction(`document.querySelector('${panel}').textContent.includes('createClient')`);
    expect(await languages()).toEqual(new Set(['TypeScript']));
  }, 60_000);

  it('says since which version what the released contract lacks is there', async () => {
    const shown = String(await (await open(anOperation)).evaluate('document.body.innerText'));
    const text = shown.replaceAll(/\s+/g, ' ');
    const since = `Since ${plannedRelease(contract.info.version)}`;
    expect(text).toMatch(new RegExp(`Idempotency-Key string .{0,100}${since} Makes`));
    expect(text).toMatch(/ treatmentIds Array /);
    expect(text).not.toMatch(new RegExp(` treatmentIds Array .{0,60}${since}`));
    expect(text).toMatch(new RegExp(`List encounters .{0,20}${since}`));
  }, 60_000);

  it('lists the known values of an open vocabulary', async () => {
    const page = await open(anOperation);
    await page.waitForFunction("document.body.innerText.includes('Known values: pending_review, in_review,')");
    expect(await page.evaluate('document.body.innerText')).not.toContain('extensible-enum');
  });

  it('has the changes of the contract as a chapter', async () => {
    const page = await open();
    const headings = await page.$$eval('h1, h2', (all) => all.map((one) => one.textContent?.trim()));
    expect(headings).toEqual(expect.arrayContaining(['Changes of the contract', 'Unreleased', '1.0.0 (2026-11-20)']));
  });

  it('opens at the code of a problem, where its doc_url leads', async () => {
    const { body } = await call(harness, 'GET /nowhere');
    const page = await open(body.doc_url.replace('/docs', ''));
    const heading = "[...document.querySelectorAll('h3')].find((one) => one.innerText === 'route_not_found')";
    await page.waitForFunction(`(${heading})?.getBoundingClientRect().top < 200`);
    expect(await page.evaluate(`${heading}.getBoundingClientRect().top`)).toBeGreaterThanOrEqual(0);
  });

  it('has links that lead to a section of the page or to a document of the service', async () => {
    // A new page: its first links are those that were rendered before its script ran.
    const page = await load('', 'light');
    // Operations are rendered when the reader comes near to them.
    const sections = new Set(operations.map(({ tags: [tag], operationId }) => `${tag}/${operationId}`.toLowerCase()));
    for (const type of Object.keys(contract.webhooks)) sections.add(`webhooks/paths/${type}/post`);
    const links = new Set<string>();
    for (const subject of ['', ...new Set(operations.map(({ tags: [tag = ''] }) => tag.toLowerCase()))]) {
      if (subject) await page.evaluate(`location.hash = '#/${subject}'`);
      if (subject) await page.waitForFunction(`document.getElementById('${subject}')`);
      const shown = `[[...document.querySelectorAll('[id]')].map(({ id }) => id), [...document.links].map(({ href }) => href)]`;
      const [ids, urls] = (await page.evaluate(shown)) as [string[], string[]];
      for (const id of ids) sections.add(id);
      for (const url of urls) links.add(url);
    }
    await page.close();
    const urls = [...links].filter((url) => url.startsWith(harness.baseUrl)).map((url) => new URL(url));
    expect(urls.length).toBeGreaterThan(400);
    for (const path of new Set(urls.map(({ pathname }) => pathname))) {
      expect([path, (await fetch(`${harness.baseUrl}${path}`)).status]).toEqual([path, 200]);
    }
    const hashes = urls.map(({ hash }) => decodeURIComponent(hash)).filter((hash) => !['', '#/'].includes(hash));
    expect(hashes.filter((hash) => !sections.has(hash.replace(/.*#\/?/, '')))).toEqual([]);
  }, 120_000);

  it('opens in a new tab at the operation, or the part of one, that a link names', async () => {
    const part = `${anOperation}#encounters/createencounter/responses`;
    for (const hash of ['#/webhooks/getwebhookendpoint', part]) {
      const page = await load(hash, 'light');
      const id = hash.replace(/.*#\/?/, '');
      await page.waitForFunction(`Math.abs(document.getElementById('${id}')?.getBoundingClientRect().top) < 200`);
      await page.close();
    }
  }, 60_000);

  it('shows every operation and every webhook, and asks no other host for anything', async () => {
    const page = await open();
    // As text, because the page's policy forbids what a function would need.
    const shows = async (text: string): Promise<boolean> =>
      String(await page.evaluate('document.body.innerText')).includes(text);

    const document = (await call(harness, 'GET /openapi.json')).body as Document;
    const shown = Object.values({ ...document.paths, ...document.webhooks }).flatMap((methods) =>
      Object.values(methods),
    );
    let opened = '';
    for (const {
      tags: [tag = ''],
      summary,
    } of shown) {
      const link = `a[href="#/${tag.toLowerCase()}"]`;
      await page.waitForSelector(link);
      // The menu of a subject lists all of its operations.
      if (tag !== opened) await page.click(link);
      // A click that comes before the page's script goes nowhere.
      for (opened = tag; !(await shows(summary)); await page.click(link)) await delay(200);
    }
    expect(asked.filter((url) => !url.startsWith(`${harness.baseUrl}/`) && !/^(data|blob):/.test(url))).toEqual([]);
    expect(complaints).toEqual([]);
  }, 120_000);
});
