import type { components } from '../../generated/client/contract.js';
import { button, element, moment, part } from './page.js';
import type { Session } from './session.js';

export type Event = components['schemas']['Event'];

/** Maximum of events on the page. */
const SHOWN = 200;

/** A list item that shows type, subject and time of an event, and opens to all of it. */
export function eventLine(event: Event, session: Session): HTMLElement {
  const { type, timestamp, data } = event;
  const { encounter_id, gfe_no, order_no } = data as { encounter_id?: number; gfe_no?: string; order_no?: string };
  const subject = element('span', { class: 'subject' }, order_no ?? gfe_no ?? '');
  const summary = element('summary', {}, element('strong', {}, type), subject, moment(timestamp));
  const open =
    encounter_id && encounter_id !== session.open && button('Show encounter', () => session.show(encounter_id));
  return element(
    'li',
    {},
    element('details', {}, summary, element('pre', {}, JSON.stringify(event, null, 2)), open || null),
  );
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
