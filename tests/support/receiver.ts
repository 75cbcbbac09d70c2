import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { closeServer, listenOnLoopback } from './fileHost.js';

/** A webhook as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
}

/** A partner's server on loopback. */
export interface Receiver {
  /** `host:port`, as WEBHOOK_ALLOWED_HOSTS wants it. */
  readonly host: string;
  readonly received: readonly Received[];
  url(path: string): string;
  /** Resolves when this many have arrived at the path; rejects after 20 s. */
  arrived(path: string, count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

/**
 * Starts a receiver.
 * @param respond to a webhook; by default 204
 */
export async function startReceiver(
  respond: (webhook: Received, response: ServerResponse) => unknown = (_webhook, response) =>
    response.writeHead(204).end(),
): Promise<Receiver> {
  const received: Received[] = [];
  const at = (path: string): Received[] => received.filter((webhook) => webhook.path === path);
  const waiting = new Set<() => void>();
  const listener: RequestListener = (request, response) => {
    void buffer(request).then((body) => {
      const path = request.url ?? '/';
      const webhook = { path, headers: request.headers, body: body.toString(), at: performance.now() };
      received.push(webhook);
      for (const look of waiting) look();
      respond(webhook, response);
    });
  };
  const server = createServer(listener);
  const host = `127.0.0.1:${await listenOnLoopback(server)}`;
  server.unref();
  return {
    host,
    received,
    url: (path) => `http://${host}${path}`,
    arrived: (path, count) =>
      new Promise((resolve, reject) => {
        const giveUp = setTimeout(() => {
          waiting.delete(look);
          reject(
            new Error(
              `Only ${at(path).length} of ${count} webhooks arrived at ${path} within 20 s: see its endpoint's deliveries`,
            ),
          );
        }, 20_000);
        const look = (): void => {
          if (at(path).length < count) return;
          clearTimeout(giveUp);
          waiting.delete(look);
          resolve(at(path));
        };
        waiting.add(look);
        look();
      }),
    close: () => closeServer(server),
  };
}

/** The payload, verified by the standard's library. @throws if the secret does not verify it */
export function verified({ headers, body }: Pick<Received, 'headers' | 'body'>, secret: string): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}
