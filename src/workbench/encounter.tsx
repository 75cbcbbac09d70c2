import type { components } from '../../generated/client/contract.js';
import { badge, Button, show, table, Time } from './components.js';
import { clinicName, patientName } from './encounters.js';
import { eventItems } from './events.js';
import { orderOf } from './order.js';
import { firstPage, type Session } from './session.js';
import { States } from './states.js';

type Simulation = components['schemas']['SimulateEncounterRequest'];

/** The actions that can be simulated, each with the statuses of an encounter or an item that allow it. */
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

/** The open encounter with its states, items, order and events, and buttons for the possible actions. */
export async function openEncounter(session: Session) {
  const { client, open: encounter_id } = session;
  if (encounter_id === undefined) {
    show('encounter-title', 'Encounter');
    return <p class="muted">Choose an encounter, or create one.</p>;
  }
  const [encounter, events] = await Promise.all([
    client.encounters.get({ encounter_id }),
    firstPage(client.pages('/events', { encounter_id, limit: 100 })),
  ]);
  const { gfe_no, order_no, status, gfe_data } = encounter;
  const [patient, clinic, order] = await Promise.all([
    patientName(session, encounter.patientId),
    clinicName(session, encounter.clinicId),
    order_no === null ? null : client.orders.get({ order_no }),
  ]);
  // Discard the answer if the user has opened another encounter meanwhile.
  if (session.open !== encounter_id) return undefined;
  show('encounter-title', [`${gfe_no} `, badge(status)]);
  const statuses = [status, ...gfe_data.map((item) => item.status)];
  const possible = ACTIONS.filter(([, , when]) => statuses.some((one) => when.test(one)));
  const actions = possible.map(([text, body]) => {
    const act = () => session.change(client.sandbox.simulateEncounter({ encounter_id, body }), `${gfe_no}: ${text}.`);
    return <Button key={text} text={text} work={act} />;
  });
  return (
    <>
      <p>
        {patient} at {clinic}, {encounter.reviewType} review {encounter.reviewerRef && `by ${encounter.reviewerRef}`}
      </p>
      <div class="buttons">{actions}</div>
      <States {...encounter} />
      {table('Items', gfe_data, {
        Item: ({ category_name, sub_category_name }) => `${category_name}, ${sub_category_name}`,
        Status: (item) => badge(item.status),
        Decided: ({ decidedAt }) => decidedAt && <Time at={decidedAt} />,
        'Valid until': ({ validUntil }) => validUntil && <Time at={validUntil} />,
        Remark: ({ denialReason, revocationReason }) => denialReason ?? revocationReason,
      })}
      {order && orderOf(session, order)}
      <h3>Timeline</h3>
      <ol class="timeline">{eventItems(session, events.data)}</ol>
    </>
  );
}
