/** The result of an attempt to send: a response of any status, or the reason why there is none. */
export type Sent =
  | { readonly status: number; /** The response's Retry-After, as sent. */ readonly retryAfter: string | null }
  | { readonly error: 'url_forbidden' | 'timeout' | 'unreachable' };

/** Posts a body to a partner's URL, once and without following redirects. It never rejects. */
export type WebhookSender = (url: string, headers: Readonly<Record<string, string>>, body: string) => Promise<Sent>;
