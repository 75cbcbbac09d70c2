import { badge, button, element, moment, notify, show, table } from './page.js';
import type { Session } from './session.js';

/** Shows the endpoints with their latest deliveries, and the sandbox's inbox. */
export async function showWebhooks({ client }: Session): Promise<void> {
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
      const rows = deliveries.data.map((delivery) => [
        moment(delivery.createdAt),
        delivery.eventType,
        badge(delivery.status),
        delivery.attempts.map(({ httpStatus, error }) => httpStatus ?? error ?? '?').join(', '),
        button('Retry', retry(delivery.id), { 'aria-label': `Retry ${delivery.eventType} ${delivery.id}` }),
      ]);
      const headings = ['Created', 'Event', 'Status', 'Responses', 'Action'];
      return element('div', {}, element('h3', {}, `${url} (${status})`), table('Deliveries', headings, rows));
    }),
  );
  const inbox = await client.get('/sandbox/webhook-inbox');
  const received = inbox.data.map(({ receivedAt, body, status }) => [
    moment(receivedAt, true),
    String(status),
    element('details', {}, element('summary', {}, /"type":"([\w.]+)"/.exec(body)?.[1] ?? ''), element('pre', {}, body)),
  ]);
  show(
    'webhooks',
    ...(shown.length > 0 ? shown : [element('p', { class: 'muted' }, 'Endpoints: none.')]),
    table('Inbox of the sandbox', ['Received', 'Answered', 'Body'], received),
  );
}
