import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import type { Database } from '../adapters/database/database.js';
import type { DomainContext } from '../context.js';

/** Time, ids and randomness of the real world, for the server and for the operator's program. */
export function systemContext(db: Database): DomainContext {
  return { db, now: () => new Date(), newId: () => v7(), randomBytes: (size) => randomBytes(size) };
}
