import type { HTTPRequest, Page } from 'puppeteer-core';
import { faults, inBrowser, openBrowser } from '../support/browser.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

/** Terms that partners search for, with the sections that explain them. */
const sections = {
  audit: 'audit/listauditevents',
  'cancel encounter': 'encounters/cancelencounter',
  certificate: 'encounters/getcertificate',
  'create patient': 'patients/createpatient',
  'event feed': 'section/webhooks/the-event-feed',
  examine: 'section/webhooks/a-receiver-that-verifies-the-webhook-signature',
  hold: 'section/the-life-of-an-encounter/how-long-an-approval-holds',
  idempotency: 'section/errors/idempotency_key_reused',
  'If-Match': 'patients/updatepatient',
  installments: 'section/the-life-of-an-encounter/orders-and-payments',
  mock: 'section/for-tools/the-mock',
  pagination: 'section/requests-and-responses/paging',
  permissions: 'section/access-tokens/permissions',
  pharmacy: "section/for-pharmacies/a-pharmacy's-day",
  Postman: 'section/for-tools',
  'rate limit': 'section/requests-and-responses/limits',
  'refresh token': 'authentication/issuetoken',
  refund: 'orders/refundpayment',
  retries: 'section/webhooks/retries',
  retry: 'section/errors/how-to-retry-a-request',
  'sandbox clock': 'sandbox/setclock',
  simulate: 'sandbox/simulateencounter',
  'time zone': 'section/errors/schedule_time_zone_required',
  'upload document': 'documents/uploadpatientdocument',
  versions: 'section/requests-and-responses/versions',
  'webhook signature': 'section/webhooks/a-receiver-that-verifies-the-webhook-signature',
  workbench: 'section/the-sandbox',
};

const harness = await openHarness();

inBrowser('the search of the reference')('the search of the reference in a browser', () => {
  let page: Page;
  const { openPage, complaints } = openBrowser();

  beforeEach(async () => {
    page = await openPage();
  });
  afterEach(() => page.close());

  /** Links of the results that the search shows. */
  const results = (): Promise<(string | null)[]> =>
    page.$$eval('#search-results a', (all) =>
      all.filter((one) => one.checkVisibility()).map((one) => one.getAttribute('href')),
    );

  it('the search of the reference page finds the section of every problem code, and of other terms, among the first three results', async () => {
    await page.goto(`${harness.baseUrl}/docs`, { waitUntil: 'networkidle0' });
    const [, codes = ''] = (await call(harness, 'GET /docs/guide.md')).text.split('## Problem codes');
    const ofCodes = [...codes.matchAll(/^### (\w+)$/gm)].map(([, code = '']) => [code, `section/errors/${code}`]);
    expect(ofCodes.length).toBeGreaterThan(70);
    const missed: unknown[] = [];
    for (const [term = '', section = ''] of [...ofCodes, ...Object.entries(sections)]) {
      await page.click('#search input', { count: 3 });
      await page.keyboard.sendCharacter(term);
      const found = (await results()).slice(0, 3);
      if (!found.includes(`#/${section}`)) missed.push([term, section, found]);
    }
    expect(missed).toEqual([]);
    expect(await faults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await results()).toEqual([]);
  });

  it('the search of the reference page works by keyboard before the script of the page has loaded, and keeps its text afterwards', async () => {
    await page.setRequestInterception(true);
    const held: HTTPRequest[] = [];
    page.on('request', (request) =>
      request.url().endsWith('/redoc.js') ? held.push(request) : void request.continue(),
    );
    const loaded = page.goto(`${harness.baseUrl}/docs`);
    await page.waitForSelector('#search input');
    await page.type('#search input', 'create enc');
    await page.waitForSelector('#search-results a');
    expect((await results())[0]).toBe('#/encounters/createencounter');
    expect(await page.$eval('#search-count', (count) => count.textContent)).toBe('First 12 results');
    await Promise.all(held.map((request) => request.continue()));
    await loaded;
    await page.waitForSelector('.copy');
    expect((await results()).length).toBe(12);
    await page.keyboard.press('Escape');
    expect(await results()).toEqual([]);
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('/');
    expect((await results()).length).toBe(12);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[id="encounters/createencounter"]');
    expect(await results()).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
