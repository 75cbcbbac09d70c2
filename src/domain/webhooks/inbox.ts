import type { Caller } from '../../context.js';

/**
 * Whether a URL is the receiver that a sandbox has built in: what is sent there does not leave the service, so the rules for
 * addresses do not count.
 * @param baseUrl the service's public address
 */
export function isInbox(url: string, baseUrl: string, tenantMode: Caller['tenantMode']): boolean {
  return tenantMode === 'sandbox' && url === `${baseUrl}/sandbox/webhook-inbox`;
}
