import type { HTTPRequest, Page } from 'puppeteer-core';
import { inBrowser, openBrowser, violations } from '../support/browser.js';
import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { newSandbox } from '../support/sandbox.js';

const harness = await openHarness();

inBrowser('the samples of the reference')('the samples of the reference in a browser', () => {
  let page: Page;
  const { openPage, complaints } = openBrowser();

  const runOf = (section: string): string => `[data-section-id="${section}"] button.run`;

  /** Shows an operation in the reference. */
  async function show(section: string, width = 1440): Promise<void> {
    page = await openPage();
    await page.setViewport({ width, height: 900 });
    await page.goto(`${harness.baseUrl}/docs#${section}`, { waitUntil: 'networkidle0' });
    await page.waitForSelector(runOf(section));
  }

  /** Opens the sample of an operation with a click. */
  async function open(...operation: Parameters<typeof show>): Promise<void> {
    await show(...operation);
    await page.click(runOf(operation[0]));
    await page.waitForSelector('dialog.run input', { visible: true });
  }

  /** Types like a user: the dialog has the focus. */
  async function signIn({ clientId, clientSecret }: { clientId: string; clientSecret: string }): Promise<void> {
    await page.keyboard.type(clientId);
    await page.keyboard.press('Tab');
    await page.keyboard.type(clientSecret);
    await page.keyboard.press('Enter');
  }

  const shows = (text: string) =>
    page.waitForFunction(`document.querySelector('dialog.run').innerText.includes('${text}')`);

  it('the reference page signs in to a sandbox and runs a sample by keyboard, and shows status, request id, headers and body', async () => {
    await open('/encounters/createencounter');
    expect(await violations(page)).toEqual([]);
    await signIn(await newSandbox(harness));
    await page.waitForSelector('#run-text', { visible: true });
    for (const key of ['Tab', 'Enter'] as const) await page.keyboard.press(key);
    await shows('201 Created in ');
    await shows('Request id: ');
    await shows('"status": "pending_review"');
    await page.click('dialog.run summary');
    await shows('location');
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate('JSON.stringify([localStorage, document.cookie])')).not.toMatch(/cess?_/);
    expect(await page.evaluate('Object.keys(sessionStorage)')).toContain('sandbox');
    await page.click('#run-sign-out');
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toMatch(/cess?_/);
    await page.keyboard.press('Escape');
    expect(await page.$('dialog[open]')).toBeNull();
    expect(complaints).toEqual([]);
  });

  it('the reference page refuses to run samples with credentials of a live tenant, and fits a phone', async () => {
    await open('/clinics/listclinics', 390);
    await signIn(await newPartner(harness));
    await shows('sandbox:simulate in a sandbox tenant');
    expect(await page.$eval('#run-text', (text) => text.checkVisibility())).toBe(false);
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toMatch(/cess?_/);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });

  it('the reference page offers to run operations only, not events', async () => {
    const event = '/webhooks/paths/webhook.ping/post';
    await show('/webhooks/pingwebhookendpoint');
    await page.evaluate(`location.hash = '${event}'`);
    await page.waitForSelector(`[data-section-id="${event}"] .panel-request-samples [data-shown]`);
    expect(await page.$(runOf(event))).toBeNull();
  });

  it('the reference page loads its samples at the next click after loading them has failed', async () => {
    await show('/clinics/listclinics');
    for (const [text, failure] of [
      ['503', (request: HTTPRequest) => request.respond({ status: 503 })],
      ['Failed to fetch', (request: HTTPRequest) => request.abort()],
    ] as const) {
      await page.setRequestInterception(true);
      page.once('request', (request) => void failure(request));
      await page.click(runOf('/clinics/listclinics'));
      await shows(text);
      await page.setRequestInterception(false);
      await page.keyboard.press('Escape');
    }
    await page.click(runOf('/clinics/listclinics'));
    await page.waitForSelector('dialog.run input', { visible: true });
  });
});
