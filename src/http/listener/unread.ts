import type { ServerResponse } from 'node:http';
import { Problem } from '../../problem.js';

/** Bytes of responses that one tenant may leave waiting for their readers. The largest response has some 2 MB. */
const MAX_UNREAD = 32 * 1024 ** 2;
/** Smaller responses leave at once: the system's buffers take them. */
const MIN_COUNTED = 16 * 1024;

/** Bounds the memory that slow readers of one tenant take, and leaves other tenants and fast readers alone. */
export function unreadResponses() {
  const byTenant = new Map<string, number>();
  const add = (tenantId: string, bytes: number): void => {
    const total = (byTenant.get(tenantId) ?? 0) + bytes;
    if (total === 0) byTenant.delete(tenantId);
    else byTenant.set(tenantId, total);
  };
  return {
    /** @throws Problem dependency_unavailable */
    requireRoom(tenantId: string): void {
      if ((byTenant.get(tenantId) ?? 0) <= MAX_UNREAD) return;
      throw new Problem('dependency_unavailable', 'Too much waits for the readers of your tenant. Read the responses.');
    },
    /** Counts a response until it has left, or its connection is closed. */
    count(tenantId: string, bytes: number, res: ServerResponse): void {
      if (bytes < MIN_COUNTED || res.destroyed) return;
      add(tenantId, bytes);
      res.once('close', () => add(tenantId, -bytes));
    },
  };
}
