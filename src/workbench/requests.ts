import type { ItemOf } from '../client/lists.js';
import { element, moment, show, table } from './page.js';
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
    const latest = others.sort((a, b) => b.at.localeCompare(a.at)).slice(0, SHOWN);
    show('requests', errors(latest), log(latest));
  };
}

function errors(requests: readonly SandboxRequest[]): HTMLElement {
  const counts = new Map<string, number>();
  for (const { operationId, code } of requests) {
    if (code === null) continue;
    const kind = `${operationId} ${code}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const rows = [...counts].map(([kind, count]) => {
    const [operation = '', code = ''] = kind.split(' ');
    const link = element('a', { href: `/docs#/section/errors/${code}` }, code);
    return [operation, link, String(count)];
  });
  return table('Errors', ['Operation', 'Code', 'Requests'], rows);
}

const log = (requests: readonly SandboxRequest[]): HTMLElement =>
  table(
    'Latest requests',
    ['Time', 'Operation', 'Status', 'Request id'],
    requests.map(({ at, operationId, status, code, requestId }) => [
      moment(at, true),
      element('a', { href: `/docs#operation/${operationId}` }, operationId),
      `${status} ${code ?? ''}`,
      requestId,
    ]),
  );
