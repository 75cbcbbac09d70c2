import findMyWay from 'find-my-way';

/** The operation of a request with the parameters of its path; or why there is none. */
export type Match<Operation> =
  | { readonly operation: Operation; readonly params: Record<string, string | undefined> }
  | { readonly allow: string }
  | 'unknown_path';

/**
 * Which operation a request means: its path decides first, a concrete one before a template (OpenAPI 3.1 §4.8.8), then
 * its method. openapi-backend's own matching scans all operations and builds their patterns again for every request.
 */
export function buildMatcher<Operation extends { readonly path: string; readonly method: string }>(
  operations: readonly Operation[],
): (method: string, path: string) => Match<Operation> {
  const paths = new Map<string, Map<string, Operation>>();
  for (const operation of operations) {
    const byMethod = paths.get(operation.path) ?? new Map<string, Operation>();
    paths.set(operation.path, byMethod.set(operation.method.toUpperCase(), operation));
  }
  // Without handlers and methods in the router: it only finds the path, whose operations are what `store` holds.
  // A long parameter is a fault of its schema; Node limits the length of a path.
  const router = findMyWay({ maxParamLength: Infinity });
  for (const [path, byMethod] of paths) {
    router.on('GET', path.replaceAll(/\{([^}]+)\}/g, ':$1'), () => undefined, byMethod);
  }
  return (method, path) => {
    // A parameter is never empty: /clients/ is not /clients/{id}.
    const found = /\/\/|.\/$/.test(path) ? null : router.find('GET', decodable(path));
    if (!found) return 'unknown_path';
    const byMethod = found.store as ReadonlyMap<string, Operation>;
    const operation = byMethod.get(method);
    return operation ? { operation, params: found.params } : { allow: [...byMethod.keys()].join(', ') };
  };
}

/** A path with malformed percent-encoding stays undecodable for libraries; as text it fails its parameter's schema. */
function decodable(path: string): string {
  if (!path.includes('%')) return path;
  try {
    decodeURIComponent(path);
    return path;
  } catch {
    return path.replaceAll('%', '%25');
  }
}
