import findMyWay from 'find-my-way';

/** The operation of a request and its path parameters; or the methods that the path allows; or that it is unknown. */
export type Match<Operation> =
  | { readonly operation: Operation; readonly params: Record<string, string | undefined> }
  | { readonly allow: string }
  | 'unknown_path';

interface Routed {
  readonly path: string;
  readonly method: string;
  /** null = public */
  readonly permissions: readonly unknown[] | null;
}

/**
 * Matches paths without parameters before templates (OpenAPI 3.1 §4.8.8); openapi-backend scans all operations. HEAD of
 * a public GET, such as `/healthz`, is answered like the GET: Node omits the body.
 */
export function buildMatcher<Operation extends Routed>(
  operations: readonly Operation[],
): (method: string, path: string) => Match<Operation> {
  const paths = new Map<string, Map<string, Operation>>();
  for (const operation of operations) {
    const byMethod = paths.get(operation.path) ?? new Map<string, Operation>();
    paths.set(operation.path, byMethod.set(operation.method.toUpperCase(), operation));
    if (operation.method === 'get' && operation.permissions === null) byMethod.set('HEAD', operation);
  }
  // The router finds only the path, so all paths are registered for GET; `store` has each path's operations by method.
  // The router need not limit lengths: schemas limit those of parameters, and Node that of paths.
  const router = findMyWay({ maxParamLength: Infinity });
  for (const [path, byMethod] of paths) {
    router.on('GET', path.replaceAll(/\{([^}]+)\}/g, ':$1'), () => undefined, byMethod);
  }
  return (method, path) => {
    // Reject empty parameters: /clients/ is not /clients/{id}.
    const route = /\/\/|.\/$/.test(path) ? null : router.find('GET', decodable(path));
    if (!route) return 'unknown_path';
    const byMethod = route.store as ReadonlyMap<string, Operation>;
    const operation = byMethod.get(method);
    return operation ? { operation, params: route.params } : { allow: [...byMethod.keys()].join(', ') };
  };
}

/** Escapes malformed percent-encoding, which the router could not decode; the result fails the parameter's schema. */
function decodable(path: string): string {
  if (!path.includes('%')) return path;
  try {
    decodeURIComponent(path);
    return path;
  } catch {
    return path.replaceAll('%', '%25');
  }
}
