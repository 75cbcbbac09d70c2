import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import type { Database } from '../adapters/database/database.js';
import type { DomainContext } from '../context.js';

/** Real time, ids and randomness, for the server and the CLI. */
export function systemContext(db: Database): DomainContext {
  return { db, now: () => new Date(), newId: () => v7(), randomBytes: (size) => randomBytes(size) };
}
