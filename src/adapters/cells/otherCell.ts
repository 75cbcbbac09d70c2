/** Milliseconds to wait for the other cell's response; the caller of the token endpoint waits meanwhile. */
const TIMEOUT_MS = 4_000;
/** Header that lists the cells already asked for this token, so that no cell is asked twice. */
export const ASKED_HEADER = 'x-cells-asked';
/** Header with the original caller's address, signed by the cell that received the request (D-336). */
export const ADDRESS_HEADER = 'x-cells-address';

interface TokenRequest {
  readonly body: unknown;
  readonly authorization: string | undefined;
  readonly asked: readonly string[];
  readonly address: string;
  /** Aborted when the caller hangs up. */
  readonly signal: AbortSignal;
}

/** Sends a token request to another cell. @returns null if that cell does not answer or is unavailable */
export const requestToken = async (url: string, { body, authorization, asked, address, signal }: TokenRequest) => {
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
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (response.status >= 500) return null;
    return { status: response.status, body: await response.json() };
  } catch {
    return null;
  }
};

export type RequestToken = typeof requestToken;
