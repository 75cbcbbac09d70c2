import type { Logger } from 'pino';
import type { ObjectStore } from '../adapters/objects/objectStore.js';
import type { DomainContext } from '../context.js';

/** What a job may use: it works for all tenants and has no caller. */
export interface JobContext extends DomainContext {
  readonly objects: ObjectStore;
  /** Numbers only: keys, names and messages of libraries may be health data. */
  readonly log: Logger;
  /** Aborts when the process stops; a job that takes long looks at it between its steps. */
  readonly signal: AbortSignal;
}

/**
 * Work by the clock. It must be idempotent and safe to run twice at the same time: it is tried again when it fails or
 * is cut off, and a process that was thought dead may still be at it.
 */
export interface Job {
  /** Also the key in the engine's tables: a new name is a new job. */
  readonly name: string;
  /** Minute, hour, day, month and weekday in UTC. */
  readonly cron: string;
  readonly run: (context: JobContext) => Promise<unknown>;
}
