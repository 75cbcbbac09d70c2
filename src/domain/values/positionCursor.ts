import { Problem } from '../../problem.js';

/** The cursor of a place in a feed: opaque to callers, and of its owner only. */
export const cursorOf = (owner: string, position: bigint): string =>
  Buffer.from(`${owner} ${position}`).toString('base64url');

/** @throws Problem cursor_invalid unless the cursor was issued for this owner's feed */
export function positionOf(cursor: string, owner: string): bigint {
  const [issuedTo, position = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  // No more digits than bigint holds.
  if (issuedTo !== owner || !/^\d{1,18}$/.test(position)) throw cursorInvalid('is not a cursor of this list');
  return BigInt(position);
}

/** @param detail what is wrong with it */
export const cursorInvalid = (detail: string): Problem =>
  new Problem('cursor_invalid', undefined, { errors: [{ parameter: 'after', code: 'cursor_invalid', detail }] });
