import type { ItemOf } from '../client/lists.js';
import { show, table, Time } from './components.js';
import { OWN_ID, type Session } from './session.js';

type SandboxRequest = ItemOf<'/sandbox/requests'>;

/** Maximum of requests on the page. */
const SHOWN = 200;

/** Follows the log of the sandbox's requests, without this page's own. @returns a function that shows the new ones */
export function followRequests(session: Session): () => Promise<void> {
  const seen = new Map<string, SandboxRequest>();
  return async () => {
    const { data } = await session.client.get('/sandbox/requests', { params: { query: { limit: 100 } } });
    for (const request of data) seen.set(`${request.requestId} ${request.at}`, request);
    const others = [...seen.values()].filter(({ requestId }) => !requestId.startsWith(OWN_ID));
    const latest = others.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, SHOWN);
    show('requests', logOf(latest));
  };
}

/** The failures by operation and code, and the latest requests. */
function logOf(requests: readonly SandboxRequest[]) {
  const failed = requests.filter(({ code }) => code !== null);
  const kinds = Map.groupBy(failed, ({ operationId, code }) => `${operationId} ${code}`);
  const errors = [...kinds].map(([id, { length }]) => ({ id, length }));
  return [
    table('Errors', errors, {
      'Operation and code': ({ id }) => <a href={`/docs#/section/errors/${id.split(' ')[1]}`}>{id}</a>,
      Requests: ({ length }) => length,
    }),
    table('Latest requests', requests, {
      Time: ({ at }) => <Time at={at} isReal />,
      Operation: ({ operationId }) => <a href={`/docs#operation/${operationId}`}>{operationId}</a>,
      Status: ({ status, code }) => `${status} ${code ?? ''}`,
      'Request id': ({ requestId }) => requestId,
    }),
  ];
}
