import { part } from '../workbench/page.js';

/** A section of the reference: its title, its link, what it is, and its text. */
type Section = readonly [title: string, link: string, kind: string, text: string];

/** The sections, which the build writes here, so that the search works before Redoc's script does. */
declare const SECTIONS: readonly Section[];

/** Maximum of results. */
const SHOWN = 12;

// Open the operation that a link of another renderer names, such as `#operation/createEncounter`.
const [, operation = ''] = /^#\/?operation\/(\w+)$/.exec(location.hash) ?? [];
const named = SECTIONS.find(([, href]) => operation && href.endsWith(`/${operation.toLowerCase()}`));
if (named) location.replace(`#${named[1]}`);

const box = part('search');
const field = box.querySelector('input') as HTMLInputElement;
const [results, count] = [part('search-results'), part('search-count')];

/** Words of letters and digits in lower case, with a space before and after each. */
const words = (text: string): string => ` ${(text.toLowerCase().match(/[a-z\d]+/g) ?? []).join(' ')} `;
const index = SECTIONS.map((section) => ({ section, title: words(section[0]), text: words(section.join(' ')) }));

/** The sections in which each word of the query begins a word, the best first; words in a title count most. */
function find(query: string): Section[] {
  const phrase = words(query).trimEnd();
  const wanted = phrase
    .split(' ')
    .slice(1)
    .map((word) => ` ${word}`);
  const ranked = index.map(({ section, title, text }) => {
    const inTitle = wanted.filter((word) => title.includes(word)).length / wanted.length;
    const closeness = title.includes(phrase) ? 2 + phrase.length / title.length : 0;
    const frequency = Math.min(text.split(phrase).length, 9) / 10;
    const isFound = wanted.length > 0 && wanted.every((word) => text.includes(word));
    return { section, rank: isFound ? 1 + 4 * inTitle + closeness + frequency : 0 };
  });
  const found = ranked.filter(({ rank }) => rank > 0).toSorted((a, b) => b.rank - a.rank);
  return found.slice(0, SHOWN).map(({ section }) => section);
}

function itemOf([title, href, kind]: Section): HTMLLIElement {
  const item = document.createElement('li');
  const link = Object.assign(document.createElement('a'), { href: `#${href}` });
  link.append(title, Object.assign(document.createElement('small'), { textContent: kind }));
  item.append(link);
  return item;
}

/** Shows the sections for the text of the field. */
function show(): void {
  const found = find(field.value);
  results.replaceChildren(...found.map(itemOf));
  results.hidden = field.value === '';
  count.textContent =
    field.value &&
    `${found.length === SHOWN ? 'First ' : ''}${found.length} ${found.length === 1 ? 'result' : 'results'}`;
}

function hide(): void {
  results.hidden = true;
}

field.addEventListener('input', show);
field.addEventListener('focus', show);
results.addEventListener('click', hide);
box.addEventListener('focusout', ({ relatedTarget }) => box.contains(relatedTarget as Node | null) || hide());
box.addEventListener('keydown', (event) => {
  const links = [...results.querySelectorAll('a')];
  const place = links.findIndex((one) => one === document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) [field, ...links].at((place + 1 + step) % (links.length + 1))?.focus();
  else if (event.key === 'Enter' && place < 0) links[0]?.click();
  else if (event.key === 'Escape') {
    field.focus();
    hide();
  } else return;
  event.preventDefault();
});
document.addEventListener('keydown', (event) => {
  const isTyping = (event.target as Element).matches('input, textarea');
  if (!(event.key === '/' && !isTyping) && !(event.key === 'k' && (event.ctrlKey || event.metaKey))) return;
  event.preventDefault();
  field.select();
});
// The user may have typed before this script was loaded.
show();
