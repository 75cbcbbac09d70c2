import { useState } from 'preact/hooks';
import type { ItemOf } from '../client/lists.js';
import { details, SHOWN, table, Time } from './components.js';
import { textOf } from './page.js';
import { firstPage, OWN_ID, type Session } from './session.js';

type SandboxRequest = ItemOf<'/sandbox/requests'>;

/** The requests that this page has seen, without its own. */
const seen = new Map<string, SandboxRequest>();

/** The failures by operation and code, and the latest requests. */
export async function requests({ client }: Session) {
  const { data } = await firstPage(client.pages('/sandbox/requests', { limit: 100 }));
  const others = data.filter(({ requestId }) => !requestId.startsWith(OWN_ID));
  for (const request of others) seen.set(`${request.requestId} ${request.at}`, request);
  const latest = [...seen.values()].toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, SHOWN);
  const failed = latest.filter(({ code }) => code !== null);
  const kinds = Map.groupBy(failed, ({ operationId, code }) => `${operationId} ${code}`);
  return [
    table('Errors', [...kinds], {
      'Operation and code': ([kind]) => <a href={`/docs#/section/errors/${kind.split(' ')[1]}`}>{kind}</a>,
      Requests: ([, { length }]) => length,
    }),
    <h3>Latest requests</h3>,
    latest.length === 0 && <p class="muted">None: send one, for example with Run in the reference.</p>,
    <ol>
      {latest.map((request) => (
        <RequestLine key={`${request.requestId} ${request.at}`} client={client} {...request} />
      ))}
    </ol>,
  ];
}

/** A request that expands to its bodies and those of its response, which the sandbox keeps for an hour. */
function RequestLine({ client, ...request }: SandboxRequest & Pick<Session, 'client'>) {
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
export function laidOut(json: string | null): string {
  try {
    return json === null ? '' : JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return `${json} …`;
  }
}
