import { fieldProblem, type Problem } from '../../problem.js';

const MAX_BYTES = 16 * 1024;
const DEEPEST = 5;

/** Checks depth, size and characters of the partner's metadata. @throws Problem validation_failed */
export function checkMetadata(metadata: object): void {
  if (!isWithin(metadata, DEEPEST)) throw refusal('maxDepth', `must be at most ${DEEPEST} levels deep`);
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) > MAX_BYTES) throw refusal('maxBytes', 'must not exceed 16 KiB');
  if (/(^|[^\\])(\\\\)*\\u0000/.test(text)) throw refusal('pattern', 'must not contain a NUL character (U+0000)');
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1));
}

/** The metadata after a merge patch. @throws Problem validation_failed */
export function patchedMetadata(before: unknown, patch: unknown): unknown {
  const metadata = mergedPatch(before, patch);
  if (isObject(metadata)) checkMetadata(metadata);
  return metadata;
}

/** Applies a JSON merge patch (RFC 7396). */
function mergedPatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, mergedPatch(members.get(name), value));
  }
  return Object.fromEntries(members);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refusal = (rule: string, detail: string): Problem =>
  fieldProblem('validation_failed', '#/metadata', detail, rule);
