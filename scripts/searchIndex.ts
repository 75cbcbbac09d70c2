import type { Placed } from './artifacts/sources.js';

type Section = readonly [title: string, link: string, kind: string, text: string];

/**
 * The sections that the reference's search finds: operations, events, problem codes, chapters of the guide and changelog.
 * @param html the rendered page, which has the links of the chapters
 */
export function searchIndex(html: string, operations: readonly Placed[], events: readonly string[]): Section[] {
  const chapters = html
    .split(/<h[1-3] id="(?=section\/)/)
    .slice(1)
    .map((chapter): Section => {
      const [heading = '', ...text] = chapter.split(/<\/h[1-3]>/);
      const [, link = '', title = ''] = /^([^"]*)"[^>]*>(.*)/s.exec(heading) ?? [];
      return [plain(title), `/${plain(link)}`, link.includes('_') ? 'Problem code' : 'Guide', plain(text.join(' '))];
    });
  return [
    ...operations.map(
      ({ tags: [tag = ''], operationId, method, path, summary, description, parameters = [] }): Section => {
        const names = parameters.map(({ name }) => name);
        const text = [operationId, tag, ...names, description].join(' ');
        return [summary, `/${tag}/${operationId}`.toLowerCase(), `${method} ${path}`, text];
      },
    ),
    ...events.map((type): Section => [type, `/webhooks/paths/${type}/post`, 'Event', '']),
    ...chapters,
  ];
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" };

/** The text of HTML. */
const plain = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(#?\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim();
