import { findNodeAtLocation, parseTree, printParseErrorCode, type ParseError } from 'jsonc-parser';
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
  readonly value: unknown;
  /** The place of the value at a pointer; with `at: 'name'`, the place of the member's name. */
  placeOf(pointer: string, at?: 'name'): JsonPlace;
}

/** Metadata needs a few levels, and PostgreSQL stores only some thousands. */
const MAX_LEVELS = 100;

/** Parses strict JSON (RFC 8259): no comments, no trailing commas. @returns a fault if it is malformed or too deep */
export function parseJson(text: string): JsonDocument | JsonFault {
  const lineStarts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const placeAt = (offset: number, pointer: string): JsonPlace => {
    const line = lineStarts.findLastIndex((start) => start <= offset);
    return { line: line + 1, column: offset - (lineStarts[line] ?? 0) + 1, pointer };
  };
  if (levelsOf(text) > MAX_LEVELS) {
    return { ...placeAt(0, ''), message: `is nested too deeply: a file has at most ${MAX_LEVELS} levels` };
  }
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true });
  const [error] = errors;
  if (error) {
    return { ...placeAt(error.offset, ''), message: `is not valid JSON: ${words(printParseErrorCode(error.error))}` };
  }
  const placeOf: JsonDocument['placeOf'] = (pointer, at) => {
    const node = root && findNodeAtLocation(root, pathOf(pointer));
    const named = at === 'name' ? node?.parent?.children?.[0] : node;
    return placeAt(named?.offset ?? 0, pointer);
  };
  return { value: JSON.parse(text), placeOf };
}

/** Turns an error code into words: `CommaExpected` → `comma expected` */
function words(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

/** The indexes and names of a JSON pointer. A name of digits is taken for an index: its place is the start of the file. */
function pathOf(pointer: string): (string | number)[] {
  const tokens = pointer.split('/').slice(1);
  return tokens.map((token) => (/^\d+$/.test(token) ? Number(token) : token.replace(/~1/g, '/').replace(/~0/g, '~')));
}

/** A name as a token of a JSON pointer (RFC 6901 §3). */
export function escaped(name: unknown): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}
