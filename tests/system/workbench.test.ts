import type { HTTPRequest, Page } from 'puppeteer-core';
import { presetPermissions } from '../../src/domain/access/permissions.js';
import { faults, inBrowser, openBrowser, violations } from '../support/browser.js';
import { eventsUpTo } from '../support/events.js';
import { newClient, newPartner, newPatient } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { newSandbox, reset } from '../support/sandbox.js';

const harness = await openHarness();
inBrowser('the workbench')('the workbench in a browser', () => {
  let page: Page;
  const { openPage, complaints } = openBrowser();

  beforeEach(async () => {
    page = await openPage();
    await page.goto(`${harness.baseUrl}/workbench`);
  });
  afterEach(() => page.close());

  async function signIn({ clientId, clientSecret }: { clientId: string; clientSecret: string }): Promise<void> {
    await page.type('[name=clientId]', clientId);
    await page.type('[name=clientSecret]', clientSecret);
    await page.click('#sign-in button');
  }

  const stored = 'JSON.stringify([localStorage, sessionStorage, document.cookie])';

  /** Waits until a part of the page shows the text. */
  const shows = (selector: string, text: string) =>
    page.waitForFunction(`document.querySelector('${selector}')?.textContent.includes('${text}')`);

  /** Clicks the first button whose name begins like this, once it is there and enabled. */
  const click = (text: string) =>
    page.waitForFunction(
      `[...document.querySelectorAll('button')].some(
        (one) => one.textContent.startsWith('${text}') && !one.disabled && (one.click(), true))`,
    );

  /** Moves the focus to the control whose name begins like this, and presses it. */
  async function press(text: string): Promise<void> {
    const isFocused = `document.activeElement.matches('button:enabled, summary') && document.activeElement.textContent.startsWith('${text}')`;
    for (let steps = 0; !(await page.evaluate(isFocused)); steps += 1) {
      if (steps > 300) throw new Error(`The keyboard does not reach ${text}: enable it, or put it into the tab order.`);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
  }

  it('the workbench plays an encounter from creation to refund and revocation by keyboard, and shows its events', async () => {
    await signIn(await newSandbox(harness));
    await page.waitForSelector('#treatments input');
    await press('New encounter');
    await press('Create an encounter');
    await shows('#encounter-title', 'pending_review');
    await shows('#events', 'encounter.created');
    await press('Claim');
    await shows('.states .present', 'in_review');
    expect(await page.$eval('p.next', (words) => words.textContent)).toMatch(
      /^State: in_review\. Next: pending_review \(release, lapse\), .*completed \(approve\), .*\.$/,
    );
    await press('Approve all');
    await shows('.states .present', 'completed');
    await shows('.timeline', 'encounter.completed');
    await shows('#events', 'order.created');
    await press('Pay ');
    await shows('#events', 'order.paid');
    for (const step of ['accepted', 'shipped', 'delivered']) {
      await press(`Mark as ${step}`);
      await shows('#events', `"fulfilment_status": "${step}"`);
    }
    await press('Refund ');
    await shows('#events', 'order.refunded');
    await shows('#encounter h3 .badge', 'refunded');
    await press('Revoke');
    await shows('#encounter .badge.revoked', 'revoked');
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('the workbench signs in by the link of a local server, keeps the sandbox for Run in this tab until the user signs out, and offers only what status and permissions allow', async () => {
    const { tenantId } = await newSandbox(harness);
    const { clientId, clientSecret } = await newClient(harness, tenantId, presetPermissions('partner', 'sandbox'));
    await page.goto(`${harness.baseUrl}/workbench#${clientId}:${clientSecret}`);
    await page.reload();
    expect(page.url()).toBe(`${harness.baseUrl}/workbench`);
    await click('GFE-100126');
    await shows('#encounter', 'ORD-100045');
    const names = await page.$$eval('#encounter button', (all) => all.map((one) => one.textContent));
    expect(names).toEqual(['Revoke']);
    await click('GFE-100124');
    await shows('#encounter-title', 'GFE-100124');
    await shows('#encounter', 'Jane Miller');
    expect(await page.$$eval('#encounter button', (all) => all.map((one) => one.textContent))).toEqual(
      expect.arrayContaining(['Claim', 'Approve all', 'Expire']),
    );
    await page.goto(`${harness.baseUrl}/docs#/clinics/listclinics`);
    await page.waitForSelector('button.run');
    await click('Run');
    await page.waitForFunction(`document.activeElement.id === 'run-text'`);
    await page.goto(`${harness.baseUrl}/workbench`);
    await shows('#encounters', 'GFE-');
    await click('Sign out');
    await page.waitForSelector('#sign-in:not([hidden])');
    expect(await page.evaluate(stored)).not.toMatch(/cess?_/);
  });

  it('the workbench counts failed requests of the sandbox by operation and code, opens one with its bodies, moves the sandbox clock and resets the sandbox', async () => {
    const sandbox = await newSandbox(harness);
    await signIn(sandbox);
    await shows('#encounters', 'GFE-');
    await fetch(`${harness.baseUrl}/encounters/999999`, { headers: { Authorization: `Bearer ${sandbox.token}` } });
    await shows('#requests', 'getEncounter encounter_not_found1');
    await page.evaluate(
      `[...document.querySelectorAll('#requests summary')].find((one) => one.textContent.includes('getEncounter')).click()`,
    );
    await shows('#requests [open]', 'GET /encounters/999999');
    await shows('#requests [open]', '"code": "encounter_not_found"');
    expect(await page.$eval('#requests [open] a', (link) => link.getAttribute('href'))).toBe(
      '/docs#operation/getEncounter',
    );
    expect(await violations(page)).toEqual([]);
    const before = await page.$eval('#clock time', (time) => time.dateTime);
    await click('+ 30 days');
    await page.waitForFunction(`document.querySelector('#clock time').dateTime > '${before}'`);
    // The page shows ages by the sandbox's clock, not by real time.
    await page.waitForFunction(`document.querySelector('#events').innerText.includes('2 months ago')`);
    page.on('dialog', (dialog) => void dialog.accept());
    await click('Reset the sandbox');
    await shows('#notice', 'The sandbox was reset.');
  });

  it('the workbench reads the feed from its start after a reset that removed events which it had not read', async () => {
    const sandbox = await newSandbox(harness);
    await signIn(sandbox);
    await shows('#events', 'order.created');
    // A hidden tab does not read.
    await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true, configurable: true })`);
    await newPatient(harness, sandbox);
    await reset(harness, sandbox);
    await newPatient(harness, sandbox);
    await page.evaluate('delete document.hidden');
    const event = (await eventsUpTo(harness, sandbox, 'patient.created')).at(-1);
    await shows('#events', String(event?.id));
    expect(await page.$eval('#notice', (notice) => notice.textContent)).toBe('');
  });

  it('the workbench names a missing permission in the panel that needs it, and shows the events', async () => {
    const { tenantId } = await newSandbox(harness);
    await signIn(await newClient(harness, tenantId, ['sandbox:simulate', 'read:event', 'read:order']));
    await shows('#webhooks', 'lacks admin:webhook');
    await shows('#encounters', 'lacks read:encounter');
    await shows('#events', 'order.created');
    expect(await violations(page)).toEqual([]);
  });

  it('the workbench has no violation of WCAG A and AA while its parts load', async () => {
    await page.setRequestInterception(true);
    const held: HTTPRequest[] = [];
    page.on('request', (request) =>
      /\/(encounters|events|requests|webhook-endpoints)\b/.test(request.url())
        ? held.push(request)
        : void request.continue(),
    );
    await signIn(await newSandbox(harness));
    await page.setViewport({ width: 1440, height: 900 });
    await shows('#encounter', 'Choose an encounter');
    expect(await page.$$eval('.loading', (all) => all.filter((one) => one.checkVisibility()).length)).toBe(4);
    expect(await violations(page)).toEqual([]);
    await Promise.all(held.map((request) => request.abort()));
  });

  it('the workbench refuses the credentials of a live tenant, and stores no secret', async () => {
    const live = await newPartner(harness);
    await signIn(live);
    await shows('#notice', 'sandbox:simulate in a sandbox tenant');
    expect(await faults(page)).toEqual([]);
    expect(await page.$eval('main', (main) => main.hidden)).toBe(true);
    expect(await page.evaluate(stored)).not.toMatch(/cess?_/);
  });

  it('the workbench fits a phone in light and dark mode', async () => {
    await signIn(await newSandbox(harness));
    await shows('#encounters', 'GFE-');
    for (const value of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
      await page.setViewport({ width: 390, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      expect(await page.$$eval('section', (all) => all.filter((one) => one.checkVisibility()).length)).toBe(1);
      expect(await violations(page)).toEqual([]);
    }
  });
});
