import { withTimeLimit } from '../withTimeLimit.js';

/** Milliseconds to wait for the other cell's response; the caller of the token endpoint waits meanwhile. */
const TIMEOUT_MS = 4_000;
/** Requests of a process to one cell: a cell that does not answer must not use up the connections of this one. */
export const MAX_PENDING = 50;
/** Header that lists the cells already asked for this token, so that no cell is asked twice. */
export const ASKED_HEADER = 'x-cells-asked';
/** Header with the original caller's address, signed by the cell that received the request (ADR 9). */
export const ADDRESS_HEADER = 'x-cells-address';

interface TokenRequest {
  readonly body: unknown;
  readonly authorization: string | undefined;
  readonly asked: readonly string[];
  readonly address: string;
  /** Aborted when the caller hangs up. */
  readonly signal: AbortSignal;
}

/** Returns a function that sends a token request to another cell; its result is null if that cell does not answer. */
export function openTokenRequests() {
  const pending = new Map<string, number>();
  return async (url: string, { body, authorization, asked, address, signal }: TokenRequest) => {
    const count = pending.get(url) ?? 0;
    if (count >= MAX_PENDING) return null;
    pending.set(url, count + 1);
    try {
      const response = await fetch(`${url}/oauth/token`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          [ASKED_HEADER]: asked.join(','),
          [ADDRESS_HEADER]: address,
          ...(authorization !== undefined && { authorization }),
        },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: withTimeLimit(signal, TIMEOUT_MS),
      });
      if (response.status >= 500) return null;
      return { status: response.status, body: await response.json() };
    } catch {
      return null;
    } finally {
      pending.set(url, (pending.get(url) ?? 0) - 1);
    }
  };
}

export type RequestToken = ReturnType<typeof openTokenRequests>;
