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

/** The places found in each schema: the operations share most schemas. */
const known = new WeakMap<Schema, string[]>();

/** The places of patients' ids, such as `data.patientId`: an array stands for its elements. */
function placesIn(schema: Schema): string[] {
  const { properties = {}, items, allOf = [], anyOf = [], oneOf = [] } = schema;
  const places = known.get(schema) ?? [
    ...[...allOf, ...anyOf, ...oneOf, ...(items ? [items] : [])].flatMap(placesIn),
    ...Object.entries(properties).flatMap(([name, property]) =>
      NAMES.has(name) ? [name] : placesIn(property).map((place) => `${name}.${place}`),
    ),
  ];
  known.set(schema, places);
  return places;
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
