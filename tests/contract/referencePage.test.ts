import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'puppeteer-core';
import { faults, inBrowser, openBrowser } from '../support/browser.js';
import { contract, operations } from '../support/contract.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

/** The parts of an operation by which a test finds it in the reference. */
interface Shown {
  readonly tags: readonly string[];
  readonly summary: string;
}

const anOperation = '#/encounters/createencounter';

/** Code that is cut off, parts wider than the page, and diagrams that are scaled down. */
const wideParts = `[
  ...[...document.querySelectorAll('pre')].filter((block) => block.scrollWidth > block.clientWidth + 1),
  ...[document.documentElement].filter((page) => page.scrollWidth > innerWidth),
  ...[...document.querySelectorAll('table')].filter(
    (table) => table.getBoundingClientRect().right > innerWidth && !/auto|scroll/.test(getComputedStyle(table.parentElement).overflowX),
  ),
  ...[...document.querySelectorAll('.diagram img')].filter((image) => image.width < Math.floor(image.naturalWidth)),
].map((part) => part.outerHTML.slice(0, 200))`;

const harness = await openHarness();

inBrowser('the reference in a browser')('the reference in a browser', () => {
  const { openPage, complaints } = openBrowser();
  afterEach(() => expect(complaints).toEqual([]));

  /** URLs that the pages requested. */
  const requested: string[] = [];
  const pages = new Map<string, Page>();

  /** A rendered page of the reference. Rendering takes seconds, so tests share pages. */
  async function open(hash = '', { width = 1440, scheme = 'light' } = {}): Promise<Page> {
    const name = `${hash} ${scheme}`;
    const page = pages.get(name) ?? (await load(hash, scheme));
    pages.set(name, page);
    await page.bringToFront();
    await page.setViewport({ width, height: 900 });
    return page;
  }

  async function load(hash: string, scheme: string): Promise<Page> {
    const page = await openPage();
    page.on('request', (request) => requested.push(request.url()));
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.goto(`${harness.baseUrl}/docs${hash}`, { waitUntil: 'networkidle0' });
    await page.waitForSelector('pre');
    return page;
  }

  it('the reference page shows code, tables and diagrams in full, on a phone too', async () => {
    const sizes = [{ width: 1440 }, { width: 390 }, { width: 390, hash: anOperation }];
    for (const { hash, width } of sizes) expect(await (await open(hash, { width })).evaluate(wideParts)).toEqual([]);
  });

  it('the reference page has no violation of WCAG A and AA in light or dark mode', async () => {
    for (const scheme of ['light', 'dark']) {
      for (const hash of ['', anOperation, '#/webhooks/paths/encounter.completed/post']) {
        const page = await open(hash, { scheme });
        expect([scheme, hash, await faults(page)]).toEqual([scheme, hash, []]);
      }
    }
  });

  it('the reference page shows all samples in the chosen language, and remembers it for the next visit', async () => {
    const page = await open(anOperation);
    const panel = '.panel-request-samples';
    /** Clicks the button or item with this text. */
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
  });

  it('the reference page shows method and path under the title of an operation, but no regular expressions and no common response headers', async () => {
    const page = await open(anOperation);
    const shows = "document.getElementById('encounters/createencounter')?.innerText";
    await page.waitForFunction(`${shows}?.includes('Idempotency-Key')`);
    const text = String(await page.evaluate(shows)).replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/^Create an encounter .{0,40}POST \/encounters /);
    expect(text).not.toMatch(/Show pattern|\^\(|X-Request-Id|RateLimit-Policy/);
  });

  it('the reference page shows code of the guide with the address of the service and a copy button', async () => {
    const page = await open();
    await page.waitForSelector('.copy');
    const code = String(await page.evaluate("document.querySelector('pre').textContent"));
    expect(code).toContain(`BASE_URL=${harness.baseUrl}\n`);
    const granted = (['clipboard-read', 'clipboard-write'] as const).map((name) => ({
      permission: { name },
      state: 'granted' as const,
    }));
    await page.browserContext().setPermission(harness.baseUrl, ...granted);
    await page.evaluate("document.querySelector('.copy').click()");
    await page.waitForFunction("document.querySelector('.copy').textContent === 'Copied'");
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(code.replace('Copy', ''));
  });

  it('the reference page lists the known values of a vocabulary', async () => {
    const page = await open(anOperation);
    await page.waitForFunction("document.body.innerText.includes('Known values: pending_review, in_review,')");
    expect(await page.evaluate('document.body.innerText')).not.toContain('extensible-enum');
  });

  it('the reference page shows the changelog of the contract as a chapter', async () => {
    const page = await open();
    const headings = await page.$$eval('h1, h2', (all) => all.map((one) => one.textContent?.trim()));
    const [newest] = /(?<=^## ).*/m.exec(await readFile('openapi/CHANGELOG.md', 'utf8')) ?? [];
    expect(headings).toEqual(expect.arrayContaining(['Changes of the contract', newest]));
  });

  it('the reference page opens the guide in its menu by keyboard, and its problem codes can be filtered', async () => {
    const page = await load('', 'light');
    const isShown = `document.querySelector('a[href="#/section/errors"]').checkVisibility()`;
    await page.waitForSelector('button.guide');
    expect(await page.evaluate(isShown)).toBe(false);
    await page.focus('button.guide');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(isShown)).toBe(true);
    await page.type('input.filter', 'chart');
    const shown = await page.$$eval('h3', (all) =>
      all.filter((one) => one.id.startsWith('section/errors/') && one.checkVisibility()).map((one) => one.innerText),
    );
    expect(shown).toEqual(['chart_changed']);
    expect(await faults(page)).toEqual([]);
    await page.close();
  });

  it('the reference page opens the operation that a link of another renderer names', async () => {
    const page = await load('#operation/createEncounter', 'light');
    await page.waitForFunction(
      `document.getElementById('encounters/createencounter')?.getBoundingClientRect().top < 200`,
    );
    await page.close();
  });

  it('the reference page does not move an operation on a phone after a link has opened it', async () => {
    for (const hash of ['#/orders/refundpayment', '#operation/createEncounter']) {
      const page = await openPage();
      await page.setViewport({ width: 390, height: 844 });
      await page.evaluateOnNewDocument(
        `window.shifts = [];
        new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
          .observe({ type: 'layout-shift', buffered: true });`,
      );
      await page.goto(`${harness.baseUrl}/docs${hash}`, { waitUntil: 'networkidle0' });
      await page.waitForSelector('button.run');
      expect([hash, await page.evaluate('shifts')]).toEqual([hash, []]);
      await page.close();
    }
  });

  it('the reference page opens at the problem code that a doc_url names', async () => {
    const { body } = await call(harness, 'GET /nowhere');
    const page = await open(body.doc_url.replace('/docs', ''));
    const heading = "[...document.querySelectorAll('h3')].find((one) => one.innerText === 'route_not_found')";
    await page.waitForFunction(`(${heading})?.getBoundingClientRect().top < 200`);
    expect(await page.evaluate(`${heading}.getBoundingClientRect().top`)).toBeGreaterThanOrEqual(0);
  });

  it('the reference page has no broken link to its own sections or to documents of the service', async () => {
    // On a new page the first links are those from before its script ran.
    const page = await load('', 'light');
    // The page renders operations when they come into view.
    const sections = new Set(operations.map(({ tags: [tag], operationId }) => `${tag}/${operationId}`.toLowerCase()));
    for (const type of Object.keys(contract.webhooks)) sections.add(`webhooks/paths/${type}/post`);
    const links = new Set<string>();
    for (const subject of ['', ...new Set(operations.map(({ tags: [tag = ''] }) => tag.toLowerCase()))]) {
      if (subject) await page.evaluate(`location.hash = '#/${subject}'`);
      if (subject) await page.waitForFunction(`document.getElementById('${subject}')`);
      const shown = `[[...document.querySelectorAll('[id]')].map(({ id }) => id), [...document.links].map(({ href }) => href)]`;
      const [ids, urls] = (await page.evaluate(shown)) as [string[], string[]];
      for (const id of ids) sections.add(id);
      expect(await page.evaluate('document.body.innerText')).not.toMatch(/^Headers\s+any$/m);
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
  });

  it('the reference page opens in a new tab at the part that a link names, and its menu shows only the entry of that part as active', async () => {
    const part = `${anOperation}#encounters/createencounter/response&c=201/body`;
    for (const hash of ['#/section/requests-and-responses/limits', '#/webhooks/paths/webhook.disabled/post', part]) {
      const page = await load(hash, 'light');
      const id = hash.replace(/.*#\/?/, '');
      await page.waitForFunction(`Math.abs(document.getElementById('${id}')?.getBoundingClientRect().top) < 200`);
      const active = `[...document.querySelectorAll('[data-active="true"]')]`;
      const item = hash.replace(/(?<=.)#.*/, '');
      await page.waitForFunction(`${active}.every((one) => one.getBoundingClientRect().bottom < innerHeight)`);
      expect(await page.evaluate(`${active}.map((one) => one.closest('a').getAttribute('href'))`)).toEqual([item]);
      await page.close();
    }
  });

  it('the reference page shows every operation and webhook, and sends no request to another host', async () => {
    const page = await open();
    const shows = async (text: string): Promise<boolean> =>
      String(await page.evaluate('document.body.innerText')).includes(text);

    const { paths, webhooks } = (await call(harness, 'GET /openapi.json')).body;
    const shown = Object.values<Record<string, Shown>>({ ...paths, ...webhooks }).flatMap(Object.values<Shown>);
    let opened = '';
    for (const { tags, summary } of shown) {
      const [tag = ''] = tags;
      const link = `a[href="#/${tag.toLowerCase()}"]`;
      await page.waitForSelector(link);
      // The menu of a subject lists all of its operations.
      if (tag !== opened) await page.click(link);
      // A click before the page's script runs has no effect.
      for (opened = tag; !(await shows(summary)); await page.click(link)) await delay(200);
    }
    expect(requested.filter((url) => !url.startsWith(`${harness.baseUrl}/`) && !/^(data|blob):/.test(url))).toEqual([]);
  });
});
