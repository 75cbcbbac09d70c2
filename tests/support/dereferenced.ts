/**
 * The document with each `$ref` resolved and merged with the members beside it (OpenAPI 3.1). Targets are shared, because
 * copies would take 16 MB.
 * @throws Error if a target is missing
 */
export function dereferenced(document: unknown): unknown {
  const targets = new Map<string, unknown>();
  const targetOf = (ref: string): unknown => {
    if (!targets.has(ref)) targets.set(ref, resolved(referenced(document, ref)));
    return targets.get(ref);
  };
  const resolved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...members } = value as Record<string, unknown>;
    const own = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, resolved(member)]));
    return typeof $ref === 'string' ? { ...Object(targetOf($ref)), ...own } : own;
  };
  return resolved(document);
}

/** The place in a document that a reference like `#/components/schemas/Page` names. */
function referenced(document: unknown, ref: string): unknown {
  const names = ref
    .split('/')
    .slice(1)
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'));
  const target = names.reduce((value, name) => (value as Record<string, unknown> | undefined)?.[name], document);
  if (target === undefined) throw new Error(`The document has no ${ref}`);
  return target;
}
