import type { Operation } from 'openapi-backend';

/** The parts of a JSON Schema that say which members of a body may be left out. */
interface BodySchema {
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly required?: readonly string[];
  readonly items?: BodySchema;
}

/** Leaves out, in place, optional members of a body that are null. */
type LeaveOutNulls = (body: unknown) => void;

const nothing: LeaveOutNulls = () => undefined;

/** In a merge patch a null has a meaning of its own (RFC 7396). */
const MERGE_PATCH = 'application/merge-patch+json';

/** Reads a null in an optional field as absent (D-49), before validation: "at least one" counts what is there. */
export function nullsOf({ requestBody }: Operation): LeaveOutNulls {
  const content = requestBody && 'content' in requestBody ? requestBody.content : {};
  const schema = MERGE_PATCH in content ? undefined : content['application/json']?.schema;
  return leaveOutBy((schema ?? {}) as BodySchema);
}

function leaveOutBy({ properties = {}, required = [], items }: BodySchema): LeaveOutNulls {
  if (items) {
    const ofElement = leaveOutBy(items);
    if (ofElement === nothing) return nothing;
    return (body) => Array.isArray(body) && body.forEach(ofElement);
  }
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const nested = Object.entries(properties)
    .map(([name, schema]) => [name, leaveOutBy(schema)] as const)
    .filter(([, leaveOut]) => leaveOut !== nothing);
  if (optional.length === 0 && nested.length === 0) return nothing;
  return (body) => {
    if (typeof body !== 'object' || body === null) return;
    const members = body as Record<string, unknown>;
    for (const name of optional) if (members[name] === null) Reflect.deleteProperty(members, name);
    for (const [name, leaveOut] of nested) leaveOut(members[name]);
  };
}
