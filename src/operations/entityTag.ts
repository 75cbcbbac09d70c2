/** The entity tag of a version of a record (RFC 9110 §8.8.3). */
export const entityTag = (version: number): string => `"${version}"`;

/** Whether a request may change this version of a record: one that If-Match names, or any without If-Match. */
export const versionsOf =
  (ifMatch: string | undefined) =>
  (version: number): boolean =>
    ifMatch === undefined || ifMatch.split(',').some((tag) => ['*', entityTag(version)].includes(tag.trim()));
