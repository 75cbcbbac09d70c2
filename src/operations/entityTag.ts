import { hash } from 'node:crypto';

/** The entity tag of a version of a record (RFC 9110 §8.8.3). */
export const entityTag = (version: number): string => `"${version}"`;

/** The version that a tag names, `*`, or other text. A retrieval's tag has a hash of the response after the version. */
const versionIn = (tag: string): string => /^"(\d+)(?:\.[0-9a-f]+)?"$/.exec(tag.trim())?.[1] ?? tag.trim();

/** Whether a request may change this version of a record: If-Match names it, is `*` or is absent. */
export const versionsOf =
  (ifMatch: string | undefined) =>
  (version: number): boolean =>
    ifMatch === undefined || ifMatch.split(',').some((tag) => ['*', String(version)].includes(versionIn(tag)));

/**
 * The response of a retrieval: 304 if If-None-Match is `*` or names exactly this response. The version is not enough,
 * because time and other records change what a record shows.
 */
export function unlessKnown<Body>(ifNoneMatch: string | undefined, version: number, body: Body) {
  const tag = `"${version}.${hash('sha256', JSON.stringify(body), 'hex').slice(0, 16)}"`;
  const headers = { ETag: tag };
  // A weak tag of a proxy that compressed the response names it, too (RFC 9110 §13.1.2).
  const isKnown = ifNoneMatch?.split(',').some((known) => ['*', tag].includes(known.trim().replace(/^W\//, '')));
  return isKnown ? { status: 304 as const, headers, body: null } : { status: 200 as const, headers, body };
}
