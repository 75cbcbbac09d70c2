import { badge, Button, details, table, Time } from './components.js';
import { laidOut } from './requests.js';
import { firstPage, type Session } from './session.js';

/** The endpoints with their latest deliveries, and the sandbox's inbox. */
export async function webhooks(session: Session) {
  const { client } = session;
  const endpoints = await firstPage(client.pages('/webhook-endpoints'));
  const shown = endpoints.data.map(async ({ id: endpoint_id, url, status }) => {
    const latest = { endpoint_id, limit: 10 };
    const { data } = await firstPage(client.pages('/webhook-endpoints/{endpoint_id}/deliveries', latest));
    const retry = (delivery_id: string) =>
      session.change(client.webhooks.retryDelivery({ endpoint_id, delivery_id }), 'The delivery will be sent again.');
    return [
      <h3>{[`${url} `, badge(status)]}</h3>,
      table('Deliveries', data, {
        Created: ({ createdAt }) => <Time at={createdAt} />,
        Event: ({ eventType }) => eventType,
        Status: (delivery) => badge(delivery.status),
        Responses: ({ attempts }) => attempts.map(({ httpStatus, error }) => httpStatus ?? error ?? '?').join(', '),
        Action: ({ id, eventType }) => (
          <Button text="Retry" label={`Retry ${eventType} ${id}`} work={() => retry(id)} />
        ),
      }),
    ];
  });
  const inbox = await firstPage(client.pages('/sandbox/webhook-inbox'));
  return [
    shown.length > 0 ? await Promise.all(shown) : <p class="muted">Endpoints: none.</p>,
    table('Inbox of the sandbox', inbox.data, {
      Received: ({ receivedAt }) => <Time at={receivedAt} isReal />,
      Answered: ({ status }) => status,
      Body: ({ body }) => details(/"type":"([\w.]+)"/.exec(body)?.[1], <pre>{laidOut(body)}</pre>),
    }),
  ];
}
