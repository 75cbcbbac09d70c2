import type { Context } from '../../context.js';
import { Problem } from '../../problem.js';

/** Whatever a token permits, a live tenant is not played with. @throws Problem sandbox_only */
export function requireSandbox({ caller }: Pick<Context, 'caller'>): void {
  if (caller.tenantMode !== 'sandbox') throw new Problem('sandbox_only');
}
