import findMyWay, { type HTTPMethod } from 'find-my-way';

interface Routed {
  readonly path: string;
  readonly method: string;
}

export type Match<Operation> = Operation | 'unknown_path' | { readonly allow: string };

/**
 * Tells which operation a request means. Built once: openapi-backend's own matching scans all operations and builds
 * their patterns again for every request.
 */
export function buildMatcher<Operation extends Routed>(
  operations: readonly Operation[],
): (method: string, path: string) => Match<Operation> {
  // Without handlers in the router: it only finds the operation, which is what `store` holds.
  const router = findMyWay({ maxParamLength: 10_000 });
  for (const operation of operations) {
    const template = operation.path.replaceAll(/\{([^}]+)\}/g, ':$1');
    router.on(methodOf(operation), template, () => undefined, operation);
  }
  const methods = [...new Set(operations.map(methodOf))];
  return (method, path) => {
    // A parameter is never empty: /clients/ is not /clients/{id}.
    if (/\/\/|.\/$/.test(path)) return 'unknown_path';
    const known = methods.find((name) => name === method);
    const found = known && (router.find(known, path)?.store as Operation | undefined);
    if (found) return found;
    const allow = methods.filter((name) => router.find(name, path) !== null);
    return allow.length > 0 ? { allow: allow.join(', ') } : 'unknown_path';
  };
}

const methodOf = ({ method }: Routed): HTTPMethod => method.toUpperCase() as HTTPMethod;
