import type { components } from '../../generated/client/contract.js';
import { eventLine } from './events.js';
import { button, buttons, element, notify, part, show, table } from './page.js';
import { showOrder } from './order.js';
import type { Session } from './session.js';
import { centerState, stateDiagram } from './states.js';

type Encounter = components['schemas']['Encounter'];
type Simulation = components['schemas']['SimulateEncounterRequest'];

const ACTIONS: readonly (readonly [text: string, body: Simulation])[] = [
  ['Claim', { outcome: 'claim' }],
  ['Approve all', { outcome: 'approve_all' }],
  ['Approve all and pay', { outcome: 'approve_all', pay: true }],
  ['Approve the first, deny the others', { outcome: 'approve_first' }],
  ['Deny all', { outcome: 'deny_all' }],
  ['Request information', { outcome: 'request_information' }],
  ['No show', { outcome: 'no_show' }],
  ['Expire', { outcome: 'expire' }],
  ['Revoke', { outcome: 'revoke' }],
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
  title.textContent = `${encounter.gfe_no}: ${encounter.status}`;
  const diagram = stateDiagram(encounter.status);
  show(
    'encounter',
    diagram,
    buttons(...ACTIONS.map(([text, body]) => button(text, simulate(text, body)))),
    items(encounter),
    ...(order ? [showOrder(session, order)] : []),
    element('h3', {}, 'Timeline'),
    element('ol', { class: 'timeline' }, ...events.map((event) => eventLine(event, session))),
  );
  centerState(diagram);
}

const items = ({ gfe_data }: Encounter): HTMLElement =>
  table(
    'Items',
    ['Item', 'Status', 'Decided', 'Valid until', 'Remark'],
    gfe_data.map((item) => [
      `${item.category_name}, ${item.sub_category_name}`,
      item.status,
      item.decidedAt ?? '',
      item.validUntil ?? '',
      item.denialReason ?? item.revocationReason ?? '',
    ]),
  );
