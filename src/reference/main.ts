/** This script adds what Redoc lacks, such as tables that scroll by keyboard, copy and Run buttons, a filter of codes. */
import { openSample } from './run.js';

const button = (className: string, textContent: string, onclick: () => unknown): HTMLButtonElement =>
  Object.assign(document.createElement('button'), { className, textContent, onclick });

function copyButton(text: Text): HTMLButtonElement {
  const made = button('copy', 'Copy', async () => {
    await navigator.clipboard.writeText(text.data);
    made.textContent = 'Copied';
  });
  return made;
}

/** Whether Redoc has hydrated the element. An earlier change would make Redoc discard its prerendered page. */
const isHydrated = (element: Element): boolean => Object.keys(element).some((name) => name.startsWith('__reactFiber'));

/** Hydrated elements that match the selector and have not been yielded before. */
function* fresh(selector: string): Generator<HTMLElement> {
  for (const found of document.querySelectorAll<HTMLElement>(`${selector}:not([data-shown])`)) {
    if (!isHydrated(found)) continue;
    found.dataset['shown'] = '';
    yield found;
  }
}

new MutationObserver(() => {
  for (const table of fresh('.md-table-wrapper')) table.tabIndex = 0;
  // Remove the hidden name, so that screen readers announce the text that the button shows.
  for (const button of fresh('button[aria-label="Example"]')) button.removeAttribute('aria-label');
  for (const pre of fresh('[data-component-name="Markdown/Markdown"] > pre')) {
    const text = pre.firstChild as Text;
    text.data = text.data.replaceAll('http://127.0.0.1:3000', location.origin);
    // Browsers let only pages on https or localhost write to the clipboard.
    if (isSecureContext) pre.prepend(copyButton(text));
  }
  for (const item of fresh('[data-component-name="Menu/MenuItem"]:has(> a[href$="#/section/quick-start"])')) {
    item.prepend(guideButton());
    if (location.hash.startsWith('#/section/')) openGuide(true);
  }
  for (const heading of fresh('[id="section/errors/problem-codes"]')) heading.after(codeFilter());
  for (const header of fresh('.panel-request-samples > [data-component-name="Panel/PanelHeader"]')) {
    const section = header.closest<HTMLElement>('[data-section-id]')?.dataset['sectionId'];
    // The service sends events, so there is nothing to run.
    if (section && !section.startsWith('/webhooks/paths/'))
      header.append(button('run', 'Run', () => openSample(section)));
  }
}).observe(document.body, { childList: true, subtree: true });

/** A button that opens and closes the guide's chapters in the menu. */
function guideButton(): HTMLButtonElement {
  const isOpen = (): boolean => 'guide' in document.documentElement.dataset;
  const made = button('guide', 'Guide', () => openGuide(!isOpen()));
  made.ariaExpanded = String(isOpen());
  return made;
}

function openGuide(isOpen: boolean): void {
  document.documentElement.toggleAttribute('data-guide', isOpen);
  document.querySelector('button.guide')?.setAttribute('aria-expanded', String(isOpen));
}

/** A field that hides the problem codes whose section lacks one of the words in the field. */
function codeFilter(): HTMLInputElement {
  const field = document.createElement('input');
  Object.assign(field, { className: 'filter', type: 'search', placeholder: 'Filter codes', ariaLabel: 'Filter codes' });
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const code of document.querySelectorAll<HTMLElement>(
      '[data-section-id^="/section/errors/"]:has(> div > h3)',
    )) {
      const text = code.innerText.toLowerCase();
      code.style.display = words.every((word) => text.includes(word)) ? '' : 'none';
    }
  });
  return field;
}

/** Scrolls the menu to the item of the current section, because Redoc does not. */
function showActive(): void {
  const active = document.querySelector('[data-testid="menu-item-label"][data-active="true"]');
  if (active?.closest('a')?.hash.startsWith('#/section/')) openGuide(true);
  active?.scrollIntoView({ block: 'nearest' });
}
new MutationObserver(showActive).observe(document.body, { subtree: true, attributeFilter: ['data-active'] });
// The item has its final place only after the menu of its tag has opened.
document.addEventListener('menu:expand-end', showActive);
