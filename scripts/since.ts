/** Marks additions to the released contracts, so that the reference shows the version that added each. */

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
}

interface Operation {
  readonly parameters?: readonly Parameter[];
}

interface Parameter {
  readonly $ref?: string;
  readonly in?: string;
  readonly name?: string;
}

type Methods = Readonly<Record<string, Operation>>;

export interface Versioned {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Methods>>;
  readonly webhooks?: Readonly<Record<string, Methods>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

/**
 * Marks operations, parameters and fields with `Since`, the first version that has them.
 * @param releases all released contracts, oldest first
 */
export function markSince(contract: Versioned, releases: readonly Versioned[]): void {
  for (const [index, released] of releases.entries()) {
    const next = releases[index + 1] ?? contract;
    markLacking(contract, released, plannedRelease(next.info.version));
  }
}

/** The release that a candidate such as `1.1.0-rc.1` precedes. */
export function plannedRelease(version: string): string {
  return version.replace(/-.*/, '');
}

function markLacking(contract: Versioned, released: Versioned, since: string): void {
  const badges = [{ name: `Since ${since}`, position: 'after' }];
  const mark = (target: object): unknown => Object.assign(target, { 'x-badges': badges });

  const markFields = (now: Schema = {}, before: Schema = {}): void => {
    for (const [name, property] of Object.entries(now.properties ?? {})) {
      const known = before.properties?.[name];
      if (known) markFields(property, known);
      else mark(property);
    }
    if (before.items) markFields(now.items, before.items);
    before.allOf?.forEach((part, index) => markFields(now.allOf?.[index], part));
  };
  for (const [name, schema] of Object.entries(contract.components.schemas)) {
    const known = released.components.schemas[name];
    if (known) markFields(schema, known);
  }

  const resolved = ({ components }: Versioned, parameter: Parameter): Parameter =>
    components.parameters[parameter.$ref?.split('/').at(-1) ?? ''] ?? parameter;
  for (const places of ['paths', 'webhooks'] as const) {
    for (const [path, methods] of Object.entries(contract[places] ?? {})) {
      for (const [method, operation] of Object.entries(methods)) {
        const known = released[places]?.[path]?.[method];
        if (!known) {
          mark(operation);
          continue;
        }
        const names = known.parameters?.map((parameter) => resolved(released, parameter).name) ?? [];
        const parameters = operation.parameters?.map((one) => {
          const parameter = resolved(contract, one);
          return names.includes(parameter.name) ? one : mark({ ...parameter });
        });
        Object.assign(operation, parameters && { parameters });
      }
    }
  }
}
