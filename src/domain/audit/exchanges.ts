import type { SandboxExchange } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { columnsOf, fromExcluded, tenantInsertion } from '../transactions/bulkSql.js';

/** Maximum of characters of a kept text. */
const MAX_CHARACTERS = 8_192;
/** Milliseconds for which a sandbox's request and its response can be read. */
export const EXCHANGE_MS = 3_600_000;
/** Prefix of the request ids of the workbench, which polls: its requests are not kept. */
const UNKEPT = 'facade00';

interface Exchange extends Pick<SandboxExchange, Exclude<keyof SandboxExchange, 'requestBody' | 'responseBody'>> {
  readonly requestBody: unknown;
  readonly responseBody: unknown;
}

/** Keeps a request of a sandbox with its response. A later request with the same id replaces it. */
export async function keepExchange({ db }: Pick<DomainContext, 'db'>, exchange: Exchange): Promise<void> {
  const { tenantId, target, requestBody, responseBody, ...others } = exchange;
  if (others.requestId.startsWith(UNKEPT)) return;
  const bodies = { requestBody: textOf(requestBody), responseBody: textOf(responseBody) };
  const row = { ...others, ...bodies, target: target.slice(0, MAX_CHARACTERS) };
  await db.of(tenantId).run`${tenantInsertion(tenantId, 'sandbox_exchange', [row])}
    ON CONFLICT (tenant_id, request_id) DO UPDATE SET ${fromExcluded(columnsOf([row]))}`;
}

/** A body as JSON without secrets, cut to the maximum; null if there is no body, or if it is a file. */
function textOf(body: unknown): string | null {
  if (body === undefined || body === null || body instanceof Uint8Array) return null;
  const withoutSecrets = (name: string, value: unknown): unknown => (/secret$/i.test(name) ? '[removed]' : value);
  // The cut may leave half of a surrogate pair, which Buffer replaces.
  return Buffer.from(JSON.stringify(body, withoutSecrets).slice(0, MAX_CHARACTERS)).toString();
}
