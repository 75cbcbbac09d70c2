/**
 * The same context in the time of a tenant, for work outside of its requests (domain rule "Sandbox").
 * @param aheadMs how far the tenant's clock is ahead of the world's, in milliseconds
 */
export function inTenantTime<C extends { readonly now: () => Date }>(context: C, aheadMs: number): C {
  return { ...context, now: () => new Date(context.now().getTime() + aheadMs) };
}
