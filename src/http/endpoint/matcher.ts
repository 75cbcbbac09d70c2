import findMyWay from 'find-my-way';

/** The operation of a request with its path parameters, or the reason why none matches. */
export type Match<Operation> =
  | { readonly operation: Operation; readonly params: Record<string, string | undefined> }
  | { readonly allow: string }
  | 'unknown_path';

/** Matches concrete paths before templates (OpenAPI 3.1 §4.8.8). openapi-backend's matcher scans all operations. */
export function buildMatcher<Operation extends { readonly path: string; readonly method: string }>(
  operations: readonly Operation[],
): (method: string, path: string) => Match<Operation> {
  const paths = new Map<string, Map<string, Operation>>();
  for (const operation of operations) {
    const byMethod = paths.get(operation.path) ?? new Map<string, Operation>();
    paths.set(operation.path, byMethod.set(operation.method.toUpperCase(), operation));
  }
  // The router only finds the path, all paths under GET; `store` holds the operations of each path by method.
  // The schema of a parameter limits its length, and Node limits the length of a path.
  const router = findMyWay({ maxParamLength: Infinity });
  for (const [path, byMethod] of paths) {
    router.on('GET', path.replaceAll(/\{([^}]+)\}/g, ':$1'), () => undefined, byMethod);
  }
  return (method, path) => {
    // A parameter is never empty: /clients/ is not /clients/{id}.
    const route = /\/\/|.\/$/.test(path) ? null : router.find('GET', decodable(path));
    if (!route) return 'unknown_path';
    const byMethod = route.store as ReadonlyMap<string, Operation>;
    const operation = byMethod.get(method);
    return operation ? { operation, params: route.params } : { allow: [...byMethod.keys()].join(', ') };
  };
}

/** Escapes malformed percent-encoding, which the router cannot decode: as text it fails its parameter's schema. */
function decodable(path: string): string {
  if (!path.includes('%')) return path;
  try {
    decodeURIComponent(path);
    return path;
  } catch {
    return path.replaceAll('%', '%25');
  }
}
