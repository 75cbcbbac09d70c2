import type { components } from '../../generated/client/contract.js';
import { eventLine } from './events.js';
import { nameOf } from './encounters.js';
import { badge, button, buttons, element, moment, notify, part, show, table } from './page.js';
import { showOrder } from './order.js';
import type { Session } from './session.js';
import { stateDiagram } from './states.js';

type Encounter = components['schemas']['Encounter'];
type Simulation = components['schemas']['SimulateEncounterRequest'];

/** What the provider can do, by the statuses of an encounter in which it is possible. */
const ACTIONS: readonly (readonly [text: string, body: Simulation, statuses: RegExp])[] = [
  ['Claim', { outcome: 'claim' }, /^pending/],
  ['Approve all', { outcome: 'approve_all' }, /_review$/],
  ['Approve all and pay', { outcome: 'approve_all', pay: true }, /_review$/],
  ['Approve the first, deny the others', { outcome: 'approve_first' }, /_review$/],
  ['Deny all', { outcome: 'deny_all' }, /_review$/],
  ['Request information', { outcome: 'request_information' }, /_review$/],
  ['No show', { outcome: 'no_show' }, /_review$|_information$/],
  ['Expire', { outcome: 'expire' }, /^pending|_information$/],
  ['Revoke', { outcome: 'revoke' }, /^approved/],
];

/** Shows an encounter with its states, events, items and order, and buttons for the provider's actions. */
export async function showEncounter(session: Session): Promise<void> {
  const { client, open: encounter_id } = session;
  const title = part('encounter-title');
  if (encounter_id === undefined) {
    title.textContent = 'Encounter';
    show('encounter', element('p', { class: 'muted' }, 'Choose an encounter.'));
    return;
  }
  const path = { encounter_id };
  const [encounter, { data: events }] = await Promise.all([
    client.get('/encounters/{encounter_id}', { params: { path } }),
    client.get('/events', { params: { query: { encounter_id, limit: 100 } } }),
  ]);
  const order =
    encounter.order_no === null
      ? null
      : await client.get('/orders/{order_no}', { params: { path: { order_no: encounter.order_no } } });
  // Discard the answer if the user has opened another encounter meanwhile.
  if (session.open !== encounter_id) return;
  const simulate = (text: string, body: Simulation) => async () => {
    await client.post('/sandbox/encounters/{encounter_id}/simulate', { params: { path }, body });
    notify(`${encounter.gfe_no}: ${text}.`);
    await session.refresh();
  };
  title.replaceChildren(`${encounter.gfe_no} `, badge(encounter.status));
  const statuses = [encounter.status, ...encounter.gfe_data.map(({ status }) => status)];
  const possible = ACTIONS.filter(([, , when]) => statuses.some((status) => when.test(status)));
  show(
    'encounter',
    element('p', {}, await nameOf(session, encounter.patientId), ', ', encounter.reviewType, ' review'),
    buttons(...possible.map(([text, body]) => button(text, simulate(text, body)))),
    ...stateDiagram(encounter.status),
    items(encounter),
    ...(order ? [showOrder(session, order)] : []),
    element('h3', {}, 'Timeline'),
    element('ol', { class: 'timeline' }, ...events.map((event) => eventLine(event, session))),
  );
}

const items = ({ gfe_data }: Encounter): HTMLElement =>
  table(
    'Items',
    ['Item', 'Status', 'Decided', 'Valid until', 'Remark'],
    gfe_data.map((item) => [
      `${item.category_name}, ${item.sub_category_name}`,
      badge(item.status),
      item.decidedAt && moment(item.decidedAt),
      item.validUntil && moment(item.validUntil),
      item.denialReason ?? item.revocationReason ?? '',
    ]),
  );
