import findMyWay from 'find-my-way';

interface Routed {
  readonly path: string;
  readonly method: string;
}

export type Match<Operation> = Operation | 'unknown_path' | { readonly allow: string };

/**
 * Tells which operation a request means; a concrete path goes before a template, as OpenAPI has it. Built once:
 * openapi-backend's own matching scans all operations and builds their patterns again for every request.
 */
export function buildMatcher<Operation extends Routed>(
  operations: readonly Operation[],
): (method: string, path: string) => Match<Operation> {
  const byPath = new Map<string, Map<string, Operation>>();
  for (const operation of operations) {
    const methods = byPath.get(operation.path) ?? new Map<string, Operation>();
    byPath.set(operation.path, methods.set(operation.method.toUpperCase(), operation));
  }
  // One entry a path, whatever the methods: 405 needs all of them.
  const router = findMyWay({ maxParamLength: 10_000 });
  for (const path of byPath.keys()) {
    router.on('GET', path.replaceAll(/\{([^}]+)\}/g, ':$1'), () => undefined, path);
  }
  return (method, path) => {
    const template: unknown = router.find('GET', path)?.store;
    const methods = typeof template === 'string' ? byPath.get(template) : undefined;
    return methods ? (methods.get(method) ?? { allow: [...methods.keys()].join(', ') }) : 'unknown_path';
  };
}
