import type { components } from '../../generated/client/contract.js';
import { ApiError } from '../client/errors.js';
import { Button, details, show, SHOWN, Time } from './components.js';
import type { Session } from './session.js';

type Event = components['schemas']['Event'];

/** List items that show type, subject and time of an event, and expand to the whole event. */
export const eventItems = (session: Session, events: readonly Event[]) =>
  events.map((event) => {
    const { id, type, timestamp, data } = event;
    const { encounter_id, gfe_no, order_no } = data as { encounter_id?: number; gfe_no?: string; order_no?: string };
    const summary = [<strong>{type}</strong>, <span>{order_no ?? gfe_no}</span>, <Time at={timestamp} />];
    const open = encounter_id !== undefined && encounter_id !== session.open && (
      <Button text="Show encounter" work={() => session.show(encounter_id)} />
    );
    return <li key={id}>{details(summary, [<pre>{JSON.stringify(event, null, 2)}</pre>, open])}</li>;
  });

let latest: Event[] = [];
let cursor: string | undefined;

/** Follows the event feed from its start, and shows the latest events. @returns whether there were new ones */
export async function readEvents(session: Session): Promise<boolean> {
  const before = latest;
  try {
    for await (const page of session.client.pages('/events', { limit: 100, ...(cursor && { cursor }) })) {
      if (page.data.length > 0) latest = [...page.data.toReversed(), ...latest].slice(0, SHOWN);
      cursor = page.next_cursor;
    }
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'cursor_invalid')) throw error;
    // A reset removed events that this tab had not read: start again.
    [latest, cursor] = [[], undefined];
    return readEvents(session);
  }
  show('events', eventItems(session, latest));
  return latest !== before;
}
