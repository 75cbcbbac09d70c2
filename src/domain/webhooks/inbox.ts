/** Whether a URL is that of the receiver of sandboxes. */
export const isInbox = (url: string, baseUrl: string, tenantMode: 'live' | 'sandbox'): boolean =>
  tenantMode === 'sandbox' && url === `${baseUrl}/sandbox/webhook-inbox`;
