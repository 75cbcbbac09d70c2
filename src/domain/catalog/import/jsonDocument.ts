import { printParseErrorCode, visit, type JSONVisitor } from 'jsonc-parser';
import { levelsOf } from '../../transactions/jsonLevels.js';

/** A place in a JSON file: line and column from 1, and a pointer (RFC 6901; '' is the root). */
export interface JsonPlace {
  readonly line: number;
  readonly column: number;
  readonly pointer: string;
}

export interface JsonFault extends JsonPlace {
  readonly message: string;
}

export interface JsonDocument {
  /** The parsed value; undefined if the text is not JSON. */
  readonly value: unknown;
  /** The first syntax error; or all repeated members, and all values that PostgreSQL cannot store. */
  readonly faults: readonly JsonFault[];
  /** The place of the value at a pointer; with `at: 'name'`, the place of the member's name. */
  placeOf(pointer: string, at?: 'name'): JsonPlace;
}

/** Metadata needs a few levels, and PostgreSQL stores only some thousands. */
const MAX_LEVELS = 100;

/** Parses strict JSON (RFC 8259): no comments, no final commas. */
export function parseJson(text: string): JsonDocument {
  const start = { line: 1, column: 1, pointer: '' };
  const refused = (fault: JsonFault): JsonDocument => ({ value: undefined, faults: [fault], placeOf: () => fault });
  if (levelsOf(text) > MAX_LEVELS) {
    return refused({ ...start, message: `is nested too deeply: a file has at most ${MAX_LEVELS} levels` });
  }
  const values = new Map<string, JsonPlace>();
  const names = new Map<string, JsonPlace>();
  const faults: JsonFault[] = [];
  const errors: JsonFault[] = [];
  const placeAt = (line: number, character: number, path: readonly unknown[]): JsonPlace => {
    const pointer = path.map((name) => `/${escaped(name)}`).join('');
    return { line: line + 1, column: character + 1, pointer };
  };
  const seen = (place: JsonPlace, places: Map<string, JsonPlace>, message: string | undefined): void => {
    places.set(place.pointer, place);
    if (message !== undefined) faults.push({ ...place, message });
  };
  const onBegin: JSONVisitor['onObjectBegin'] = (_offset, _length, line, column, pathOf) =>
    seen(placeAt(line, column, pathOf()), values, undefined);
  const visitor: JSONVisitor = {
    onObjectBegin: onBegin,
    onArrayBegin: onBegin,
    onLiteralValue(value, _offset, _length, line, column, pathOf) {
      seen(placeAt(line, column, pathOf()), values, faultOf(value));
    },
    onObjectProperty(name, _offset, _length, line, column, pathOf) {
      const place = placeAt(line, column, [...pathOf(), name]);
      seen(place, names, names.has(place.pointer) ? 'repeats a member of this object' : faultOf(name));
    },
    onError(code, _offset, _length, line, column) {
      errors.push({ ...placeAt(line, column, []), message: `is not valid JSON: ${words(printParseErrorCode(code))}` });
    },
  };
  visit(text, visitor, { disallowComments: true });
  const value = parseStrictly(text);
  if (value === undefined) return refused(errors[0] ?? { ...start, message: 'is not valid JSON' });
  const placeOf: JsonDocument['placeOf'] = (pointer, at) =>
    (at === 'name' ? names : values).get(pointer) ?? { ...start, pointer };
  return { value, faults, placeOf };
}

function parseStrictly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the tolerant parser reports where and why
  }
}

/** Turns an error code into words: `CommaExpected` → `comma expected` */
function words(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

function faultOf(value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'is a number beyond the range of a double';
  if (typeof value !== 'string') return undefined;
  if (value.includes('\u0000')) return 'contains U+0000, which cannot be stored';
  return /\p{Surrogate}/u.test(value) ? 'contains half of a surrogate pair' : undefined;
}

/** A name as a token of a JSON pointer (RFC 6901 §3). */
export function escaped(name: unknown): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}
