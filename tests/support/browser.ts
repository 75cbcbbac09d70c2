import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { launch, type Browser, type Page } from 'puppeteer-core';
import { packageRoot } from '../../src/packageRoot.js';
import { isThere } from './optional.js';

const chromium = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** `describe` if there is a browser. @param what the tests that are skipped without it */
export const inBrowser = (what: string): typeof describe.skip =>
  isThere(existsSync(chromium), what, `${chromium} is missing: install it, or set CHROMIUM.`)
    ? describe
    : describe.skip;

/** Starts Chromium, which sends no request of its own. */
const startBrowser = (): Promise<Browser> =>
  launch({
    executablePath: chromium,
    args: [
      ...['--no-sandbox', '--no-first-run', '--disable-gpu', '--disable-quic', '--disable-sync'],
      ...['--disable-background-networking', '--disable-component-update'],
    ],
  });

/** The browser of the tests of a block, and the errors of scripts and consoles of its pages in the present test. */
export function openBrowser() {
  let browser: Browser;
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await startBrowser();
  });
  beforeEach(() => void complaints.splice(0));
  afterAll(() => browser.close());
  const openPage = async (): Promise<Page> => {
    const page = await browser.newPage();
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    return page;
  };
  return { openPage, complaints };
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly tags: readonly string[];
  readonly nodes: readonly { readonly target: readonly string[]; readonly html: string }[];
}

/** axe leaves the rules of WCAG 2.2 out unless asked. */
const RULES = "{ rules: { 'target-size': { enabled: true } } }";

/** The violations that axe sees on the page. */
export async function violations(page: Page): Promise<readonly Violation[]> {
  await page.evaluate(await readFile(fileURLToPath(new URL('node_modules/axe-core/axe.min.js', packageRoot)), 'utf8'));
  return ((await page.evaluate(`axe.run(${RULES})`)) as { violations: readonly Violation[] }).violations;
}

/** The violations of WCAG A and AA on the page, and other serious ones. */
export async function faults(page: Page): Promise<string[]> {
  const found = (await violations(page)).filter(
    ({ impact, tags }) => /serious|critical/.test(impact) || tags.some((tag) => /^wcag\d+a/.test(tag)),
  );
  return found.flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id} ${target.join(' ')} ${html}`));
}
