import type { DeclaredResponses } from './validation.js';

/** The names of the contract for the id of a patient. */
const NAMES: ReadonlySet<string> = new Set(['patientId', 'user_id', 'existing_user_id']);

/** The parts of a JSON Schema that contain other schemas. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Creates the function that finds the patients whom a response names, where the contract declares their ids. */
export function patientFinder(responses: DeclaredResponses): (body: unknown) => Set<string> {
  const contents = Object.values(responses).flatMap(({ content = {} }) => Object.values(content));
  const found = new Set(contents.flatMap((media) => placesIn(media?.schema ?? {})));
  const places = [...found].map((place) => place.split('.'));
  return (body) => {
    const ids = new Set<string>();
    for (const place of places) collect(body, place, 0, ids);
    return ids;
  };
}

/** The places of patients' ids, such as `data.patientId`: an array stands for its elements. */
function placesIn({ properties = {}, items, allOf = [], anyOf = [], oneOf = [] }: Schema): string[] {
  const same = [...allOf, ...anyOf, ...oneOf, ...(items ? [items] : [])].flatMap(placesIn);
  const below = Object.entries(properties).flatMap(([name, schema]) =>
    NAMES.has(name) ? [name] : placesIn(schema).map((place) => `${name}.${place}`),
  );
  return [...same, ...below];
}

function collect(value: unknown, place: readonly string[], depth: number, ids: Set<string>): void {
  if (Array.isArray(value)) {
    for (const element of value) collect(element, place, depth, ids);
  } else if (typeof value === 'string') {
    if (depth === place.length) ids.add(value);
  } else if (value !== null && value !== undefined) {
    collect((value as Readonly<Record<string, unknown>>)[place[depth] ?? ''], place, depth + 1, ids);
  }
}
