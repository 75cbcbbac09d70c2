import { useState } from 'preact/hooks';
import type { Client } from '../client/client.js';
import type { ItemOf } from '../client/lists.js';
import { details, show, SHOWN, table, Time } from './components.js';
import { textOf } from './page.js';
import { firstPage, OWN_ID, type Session } from './session.js';

type SandboxRequest = ItemOf<'/sandbox/requests'>;

/** Follows the log of the sandbox's requests, without this page's own. @returns a function that shows the new ones */
export function followRequests(session: Session): () => Promise<void> {
  const seen = new Map<string, SandboxRequest>();
  return async () => {
    const { data } = await firstPage(session.client.pages('/sandbox/requests', { limit: 100 }));
    for (const request of data) seen.set(`${request.requestId} ${request.at}`, request);
    const others = [...seen.values()].filter(({ requestId }) => !requestId.startsWith(OWN_ID));
    const latest = others.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, SHOWN);
    show('requests', logOf(session.client, latest));
  };
}

/** The failures by operation and code, and the latest requests. */
function logOf(client: Client, requests: readonly SandboxRequest[]) {
  const failed = requests.filter(({ code }) => code !== null);
  const kinds = Map.groupBy(failed, ({ operationId, code }) => `${operationId} ${code}`);
  const errors = [...kinds].map(([id, { length }]) => ({ id, length }));
  return [
    table('Errors', errors, {
      'Operation and code': ({ id }) => <a href={`/docs#/section/errors/${id.split(' ')[1]}`}>{id}</a>,
      Requests: ({ length }) => length,
    }),
    <h3>Latest requests</h3>,
    requests.length === 0 && <p class="muted">None yet: send one, for example with Run in the reference.</p>,
    <ol>
      {requests.map((request) => (
        <RequestLine key={`${request.requestId} ${request.at}`} client={client} {...request} />
      ))}
    </ol>,
  ];
}

/** A request that opens to what was sent and received, which the sandbox keeps for an hour. */
function RequestLine({ client, ...request }: SandboxRequest & { readonly client: Client }) {
  const { at, method, operationId, status, code, requestId } = request;
  const [text, setText] = useState('Loading …');
  const load = async (): Promise<void> => {
    const { target, requestBody, responseBody } = await client.sandbox.getRequest({ request_id: requestId });
    setText([`${method} ${target}`, laidOut(requestBody), `${status}`, laidOut(responseBody)].join('\n'));
  };
  const summary = [<strong>{operationId}</strong>, <span>{[status, code].join(' ')}</span>, <Time at={at} isReal />];
  const more = [<pre>{text}</pre>, <a href={`/docs#operation/${operationId}`}>Reference</a>, ` ${requestId}`];
  return <li>{details(summary, more, () => void load().catch((error: unknown) => setText(textOf(error))))}</li>;
}

/** JSON in lines; the text itself if it was cut. */
function laidOut(json: string | null): string {
  try {
    return json === null ? '' : JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return `${json} …`;
  }
}
