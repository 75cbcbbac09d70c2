import { v5 } from 'uuid';
import { DOCUMENTED_ADDRESS as ADDRESS } from '../../src/http/pages/docs.js';
import type { Contract } from './sources.js';

/** The changelog's releases as an Atom feed (RFC 4287), without chapters that have no date: those are not released. */
export function changelogFeed({ info }: Contract, changelog: string): string {
  const releases = changelog
    .split(/^(?=## )/m)
    .flatMap((chapter) => [...chapter.matchAll(/^## (\S+) \((\d{4}-\d\d-\d\d)\)\n(.*)$/gs)])
    .map(([, version = '', date = '', text = '']) => ({ version, time: `${date}T00:00:00Z`, date, text }));
  // Atom requires a time, also before the first release.
  const updated = releases[0]?.time ?? '2026-01-01T00:00:00Z';
  const page = `${ADDRESS}/docs#/section/changes-of-the-contract`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${idOf('changelog')}</id>
  <title>Changes of the contract: ${escaped(info.title)}</title>
  <updated>${updated}</updated>
  <author><name>${escaped(info.title)}</name></author>
  <link rel="self" type="application/atom+xml" href="${ADDRESS}/docs/changelog.atom"/>
  <link rel="alternate" type="text/html" href="${page}"/>
${releases.map(({ version, time, date, text }) => entry(version, time, `${page}/${version}-(${date})`, text)).join('')}</feed>
`;
}

const entry = (version: string, time: string, link: string, text: string): string => `  <entry>
    <id>${idOf(version)}</id>
    <title>${version}</title>
    <updated>${time}</updated>
    <link rel="alternate" type="text/html" href="${link}"/>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">${xhtml(text)}</div></content>
  </entry>
`;

/** The id of the feed or an entry. It does not depend on the service's address, so that no reader shows an entry twice. */
const idOf = (name: string): string => `urn:uuid:${v5(name, 'b5a3c9de-8b0c-4b39-9c0e-6a1f6d2f7c11')}`;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The Markdown of the changelog's chapters: headings, lists, paragraphs, bold text and code. */
function xhtml(markdown: string): string {
  const blocks = escaped(markdown.trim())
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .split(/\n{2,}/);
  const shown = blocks.map((block) => {
    if (block.startsWith('### ')) return `<h3>${block.slice(4)}</h3>`;
    if (!block.startsWith('- ')) return `<p>${block}</p>`;
    const items = block.slice(2).split('\n- ');
    return `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>`;
  });
  return shown.join('\n');
}
