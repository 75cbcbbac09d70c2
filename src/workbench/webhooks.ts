import type { components } from '../../generated/client/contract.js';
import { button, element, moment, notify, show, table } from './page.js';
import type { Session } from './session.js';

type Examination = components['schemas']['Examination'];

/** The latest report on each endpoint, kept so that a refresh of the page can show it again. */
const reports = new Map<string, Examination>();

/** Shows the endpoints with their latest deliveries, and the sandbox's inbox. */
export async function showWebhooks(session: Session): Promise<void> {
  const { client } = session;
  const endpoints = await client.get('/webhook-endpoints');
  const shown = await Promise.all(
    endpoints.data.map(async ({ id, url, status }) => {
      const path = { endpoint_id: id };
      const deliveries = await client.get('/webhook-endpoints/{endpoint_id}/deliveries', { params: { path } });
      const retry = (delivery: string) => async () => {
        const params = { path: { ...path, delivery_id: delivery } };
        await client.post('/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/retry', { params });
        notify('The delivery will be sent again.');
      };
      const examine = async () => {
        notify('The receiver is being examined …');
        reports.set(id, await client.post('/sandbox/examinations', { body: { endpoint_id: id } }));
        await showWebhooks(session);
        notify('The receiver has been examined.');
      };
      const report = reports.get(id);
      const rows = deliveries.data.map((delivery) => [
        moment(delivery.created_at),
        delivery.event_type,
        delivery.status,
        delivery.attempts.map(({ http_status, error }) => http_status ?? error ?? '?').join(', '),
        button('Retry', retry(delivery.id), { 'aria-label': `Retry ${delivery.event_type} ${delivery.id}` }),
      ]);
      const headings = ['Created', 'Event', 'Status', 'Responses', 'Action'];
      return element(
        'div',
        {},
        element('h3', {}, `${url} (${status})`),
        button('Examine', examine, { 'aria-label': `Examine ${url}` }),
        report ? reportOf(report) : null,
        table('Deliveries', headings, rows),
      );
    }),
  );
  const inbox = await client.get('/sandbox/webhook-inbox');
  const received = inbox.data.map(({ received_at, body, status }) => [moment(received_at), String(status), body]);
  show(
    'webhooks',
    ...(shown.length > 0 ? shown : [element('p', { class: 'muted' }, 'Endpoints: none.')]),
    table('Inbox of the sandbox', ['Received', 'Answered', 'Body'], received),
  );
}

/** The checks of a report as a list, with statuses and durations of the receiver. */
function reportOf({ passed, failed, not_judged, checks }: Examination): HTMLElement {
  const items = checks.map(({ name, outcome, seen, remedy }) => {
    const responses = seen.map(
      ({ http_status, error, duration_ms }) => `${http_status ?? error ?? '?'} in ${duration_ms} ms`,
    );
    const text = `${outcome.replace('_', ' ')}: ${name.replaceAll('_', ' ')} (${responses.join(', ') || 'no request'})`;
    const advice = remedy === null ? null : element('div', { class: 'muted' }, remedy);
    return element('li', { class: outcome === 'failed' ? 'error' : undefined }, text, advice);
  });
  const summary = element('p', {}, `Examination: ${passed} passed, ${failed} failed, ${not_judged} not judged.`);
  return element('div', {}, summary, element('ul', { 'aria-label': 'Checks' }, ...items));
}
