/** The entity tag of a version of a record (RFC 9110 §8.8.3). */
export const entityTag = (version: number): string => `"${version}"`;

/** Which versions of a record a request may change: those that If-Match names, without it every one. */
export const versionsOf =
  (ifMatch: string | undefined) =>
  (version: number): boolean =>
    ifMatch === undefined || ifMatch.split(',').some((tag) => ['*', entityTag(version)].includes(tag.trim()));
