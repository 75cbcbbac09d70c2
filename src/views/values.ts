import type { Prisma } from '../../generated/prisma/client.js';

/**
 * An ISO time, from a `Date` or from PostgreSQL's JSON (`2026-11-22T16:00:00.5+00:00`). Turning the latter into a `Date`
 * first would cost lists 20 times as much.
 */
export const isoTime = (time: string | Date): string =>
  time instanceof Date ? time.toISOString() : `${time.slice(0, 19)}.${time.slice(20, -6).padEnd(3, '0')}Z`;

export const timestamp = (time: Date | null): string | null => time?.toISOString() ?? null;

/** An amount as decimal text with two places. */
export const priceText = (amount: Prisma.Decimal | number): string => amount.toFixed(2);

/** An amount as a JSON number: exact to the cent below 9·10^13. */
export const amountNumber = (amount: Prisma.Decimal | number): number => Number(amount.toFixed(2));

/** The value if it is a JSON object, otherwise null. */
export function jsonObject(value: Prisma.JsonValue): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
}

/** A time in UTC as date, space and time of day. */
export const createdDate = (time: Date | string): string => new Date(time).toISOString().slice(0, 19).replace('T', ' ');
