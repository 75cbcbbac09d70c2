import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';

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

/** Parses strict JSON (RFC 8259): no comments, no final commas. */
export function parseJson(text: string): JsonDocument {
  const positionOf = positionsOf(text);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true });
  const value = parseStrictly(text);
  if (root === undefined || value === undefined) {
    const [first] = errors;
    const reason = first ? `: ${words(printParseErrorCode(first.error))}` : '';
    const place = { ...positionOf(first?.offset ?? 0), pointer: '' };
    return { value: undefined, faults: [{ ...place, message: `is not valid JSON${reason}` }], placeOf: () => place };
  }
  const nodes = new Map<string, Node>();
  const faults: JsonFault[] = [];
  visit(root, '', (node, pointer, message) => {
    nodes.set(pointer, node);
    if (message !== undefined) faults.push({ ...positionOf(node.offset), pointer, message });
  });
  const placeOf: JsonDocument['placeOf'] = (pointer, at) => {
    const node = nodes.get(pointer) ?? root;
    const { offset } = at === 'name' ? (node.parent?.children?.[0] ?? node) : node;
    return { ...positionOf(offset), pointer };
  };
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

/** Creates the function that converts an offset to line and column, both counted from 1. */
function positionsOf(text: string): (offset: number) => { line: number; column: number } {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let line = 0;
    for (let end = starts.length; end - line > 1;) {
      const middle = Math.floor((line + end) / 2);
      if ((starts[middle] ?? Infinity) <= offset) line = middle;
      else end = middle;
    }
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

type Visitor = (node: Node, pointer: string, fault: string | undefined) => void;

/** Visits every value, and each member's name before its value, under the same pointer. */
function visit(node: Node, pointer: string, found: Visitor): void {
  found(node, pointer, faultOf(node.value));
  const children = node.children ?? [];
  if (node.type === 'array') children.forEach((child, index) => visit(child, `${pointer}/${index}`, found));
  if (node.type !== 'object') return;
  const names = new Set<unknown>();
  for (const { children: [name, value] = [] } of children) {
    if (!name || !value) continue;
    const at = `${pointer}/${escaped(name.value)}`;
    found(name, at, names.has(name.value) ? 'repeats a member of this object' : faultOf(name.value));
    names.add(name.value);
    visit(value, at, found);
  }
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
