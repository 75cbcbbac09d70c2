import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import { levelsOf } from '../../domain/transactions/jsonLevels.js';
import { Problem } from '../../problem.js';

/** Maximum of bytes; far more than usual requests need. */
const BODY_LIMIT = 256 * 1024;
const FORM = 'application/x-www-form-urlencoded';
/** Maximum depth of nested arrays and objects: more than the contract needs, and safe for recursion. */
const MAX_LEVELS = 32;
/**
 * An escape that may be a lone surrogate, which PostgreSQL would silently store as another character; or a
 * number that may exceed a double: JSON.parse turns it into Infinity, which can be neither stored nor hashed. Only the
 * first digit of a run starts a search: searches from every digit would take 80 ms for a body of digits.
 */
const SUSPECT = /\\u[dD][89a-fA-F]|(?:^|[:[,])\s*-?\d[\d.]*[eE]\+?\d{2}|(?<!\d)\d{300}/;

const readRaw = express.raw({ limit: BODY_LIMIT, inflate: false, type: () => true });

/** Reads the body. @throws Problem content_type_not_json, malformed_json, body_too_large, validation_failed */
export async function readBody(req: IncomingMessage, res: ServerResponse, mediaTypes: readonly string[]) {
  const bytes = await readBytes(req, res);
  if (bytes.length === 0) return undefined;
  const type: unknown = Reflect.apply(express.request.is, req, [mediaTypes]);
  if (!type) {
    throw new Problem('content_type_not_json', `Send the body as ${mediaTypes.join(' or ')}, not compressed.`);
  }
  const text = decode(bytes);
  return type === FORM ? parseForm(text) : parseJson(text);
}

async function readBytes(req: IncomingMessage, res: ServerResponse): Promise<Buffer> {
  await new Promise<void>((resolve, reject) => {
    readRaw(req, res, (error?: Error) => (error ? reject(readFailure(error)) : resolve()));
  });
  return 'body' in req && Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

/** The problem for an error of body-parser, which names errors by `type`. */
function readFailure(error: Error): Error {
  const type: unknown = 'type' in error ? error.type : undefined;
  if (type === 'entity.too.large') return new Problem('body_too_large', undefined, { cause: error });
  if (type === 'encoding.unsupported') return new Problem('content_type_not_json', undefined, { cause: error });
  if (type === 'request.aborted' || type === 'request.size.invalid') {
    return new Problem(
      'malformed_json',
      'The body arrived incomplete: it is shorter than its Content-Length, or was aborted. Send it again.',
      { cause: error },
    );
  }
  return error;
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Problem('malformed_json', 'The body is not well-formed UTF-8. Correct it, then send it again.', {
      cause,
    });
  }
}

function parseJson(text: string): unknown {
  if (levelsOf(text) > MAX_LEVELS) {
    throw new Problem('malformed_json', `The body is nested deeper than ${MAX_LEVELS} levels. Send fewer levels.`);
  }
  const reviver = SUSPECT.test(text) ? refuseLossy : undefined;
  try {
    return JSON.parse(text, reviver);
  } catch (error) {
    throw error instanceof Problem ? error : new Problem('malformed_json');
  }
}

function refuseLossy(key: string, value: unknown): unknown {
  if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed())) {
    throw new Problem('malformed_json', 'The body contains an escape for half of a surrogate pair. Send both halves.');
  }
  if (value === Infinity || value === -Infinity) {
    throw new Problem('malformed_json', 'The body contains a number beyond the range of a double. Send one within it.');
  }
  return value;
}

/** Parses a form. RFC 6749 §3.2: a parameter must not be repeated, and one without value counts as omitted. */
function parseForm(text: string): Record<string, string> {
  const fields = new URLSearchParams(text);
  const names = [...fields.keys()];
  if (new Set(names).size < names.length) {
    throw new Problem('validation_failed', 'A form parameter is repeated; send each one once.');
  }
  return Object.fromEntries([...fields].filter(([, value]) => value !== ''));
}
