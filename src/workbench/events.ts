import type { components } from '../../generated/client/contract.js';
import { element, moment, part } from './page.js';
import type { Session } from './session.js';

export type Event = components['schemas']['Event'];

/** Maximum of events on the page. */
const SHOWN = 200;

/** A list item that shows an event. */
export function eventLine({ type, timestamp, data }: Event, session: Session): HTMLElement {
  const facts = Object.entries(data).map(([name, value]) => `${name}=${String(value)}`);
  const number = 'encounter_id' in data ? data.encounter_id : undefined;
  const name = element('strong', {}, type);
  const link = element('a', { href: '#encounter-title' }, name);
  if (number !== undefined) link.addEventListener('click', () => void session.show(number));
  return element('li', {}, moment(timestamp), ' ', number === undefined ? name : link, ` ${facts.join(' ')}`);
}

/** Follows the event feed from its start. @returns a function that shows new events and tells if there were any */
export function followEvents(session: Session): () => Promise<boolean> {
  const list = part('events');
  list.replaceChildren();
  let cursor: string | undefined;
  return async () => {
    let isNew = false;
    for (let hasMore = true; hasMore;) {
      const query = { limit: 100, ...(cursor === undefined ? {} : { cursor }) };
      const page = await session.client.get('/events', { params: { query } });
      for (const event of page.data) list.prepend(eventLine(event, session));
      isNew ||= page.data.length > 0;
      hasMore = page.has_more;
      cursor = page.next_cursor;
    }
    while (list.childElementCount > SHOWN) list.lastElementChild?.remove();
    return isNew;
  };
}
