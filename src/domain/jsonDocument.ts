import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';

/** What is wrong in a JSON file, and where: line and column count from 1, the pointer is RFC 6901 ('' is the root). */
export interface JsonFault {
  readonly line: number;
  readonly column: number;
  readonly pointer: string;
  readonly message: string;
}

/** A JSON text with the places of its values. */
export interface JsonDocument {
  /** undefined when the text is not JSON. */
  readonly value: unknown;
  /**
   * The first break of the syntax (what follows is mostly its consequence); otherwise every repeated member and every
   * value that PostgreSQL cannot keep: U+0000, half a surrogate pair, a number beyond the range of a double.
   */
  readonly faults: readonly JsonFault[];
  /** A fault at the value of the pointer or, with `at: 'name'`, at the name of that member. */
  fault(pointer: string, message: string, at?: 'name'): JsonFault;
}

/** Parses strict JSON (RFC 8259): no comments, no final commas. */
export function parseJson(text: string): JsonDocument {
  const place = placesOf(text);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true });
  const value = parseStrictly(text);
  const fault = ({ node, pointer, message }: Place): JsonFault => ({ ...place(node?.offset ?? 0), pointer, message });
  if (root === undefined || value === undefined) {
    const [first] = errors;
    const reason = first ? `: ${words(printParseErrorCode(first.error))}` : '';
    const syntax = { ...place(first?.offset ?? 0), pointer: '', message: `is not valid JSON${reason}` };
    return { value: undefined, faults: [syntax], fault: () => syntax };
  }
  return {
    value,
    faults: unusable(root, '').map(fault),
    fault: (pointer, message, at) => fault({ node: find(root, pointer, at), pointer, message }),
  };
}

function parseStrictly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // where and why, says the tolerant parser
  }
}

/** `CommaExpected` → `comma expected` */
function words(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

/** Line and column of an offset, both from 1. */
function placesOf(text: string): (offset: number) => { line: number; column: number } {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset);
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

interface Place {
  readonly node: Node | undefined;
  readonly pointer: string;
  readonly message: string;
}

function unusable(node: Node, pointer: string): Place[] {
  const children = node.children ?? [];
  if (node.type === 'array') return children.flatMap((child, index) => unusable(child, `${pointer}/${index}`));
  if (node.type === 'object') {
    const names = new Set<unknown>();
    return children.flatMap(({ children: [name, value] = [] }) => {
      const at = `${pointer}/${escaped(name?.value)}`;
      const message = names.has(name?.value) ? 'repeats a member of this object' : faultOfScalar(name?.value);
      names.add(name?.value);
      return [
        ...(message === undefined ? [] : [{ node: name, pointer: at, message }]),
        ...(value ? unusable(value, at) : []),
      ];
    });
  }
  const message = faultOfScalar(node.value);
  return message === undefined ? [] : [{ node, pointer, message }];
}

function faultOfScalar(value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'is a number beyond the range of a double';
  if (typeof value !== 'string') return undefined;
  if (value.includes('\u0000')) return 'contains U+0000, which cannot be stored';
  return /\p{Surrogate}/u.test(value) ? 'contains half of a surrogate pair' : undefined;
}

/** The node of a pointer, or the nearest one around it. */
function find(root: Node, pointer: string, at?: 'name'): Node {
  let node = root;
  for (const token of pointer.split('/').slice(1)) {
    const child = node.type === 'array' ? node.children?.[Number(token)] : memberOf(node, token);
    if (!child) return node;
    node = child;
  }
  return at === 'name' ? (node.parent?.children?.[0] ?? node) : node;
}

/** The last of that name counts, as it does for JSON.parse. */
function memberOf(node: Node, token: string): Node | undefined {
  return node.children?.findLast((member) => escaped(member.children?.[0]?.value) === token)?.children?.[1];
}

/** A name as a token of a JSON pointer (RFC 6901 §3). */
export function escaped(name: unknown): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}
