/** The parts of a JSON Schema that say which members of a body are optional. */
export interface BodySchema {
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly required?: readonly string[];
  readonly items?: BodySchema;
}

/** Deletes optional members that are null (D-49), before validation: `minProperties` counts the members that are left. */
export function deleteNulls(body: unknown, { properties = {}, required = [], items }: BodySchema): void {
  if (typeof body !== 'object' || body === null) return;
  if (items && Array.isArray(body)) return body.forEach((element) => deleteNulls(element, items));
  const members = body as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!schema) continue;
    if (members[name] !== null) deleteNulls(members[name], schema);
    else if (!required.includes(name)) Reflect.deleteProperty(members, name);
  }
}
