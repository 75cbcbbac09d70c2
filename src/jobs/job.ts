import type { Logger } from 'pino';
import type { ObjectStore } from '../adapters/objects/objectStore.js';
import type { DomainContext, Services } from '../context.js';

/** A job works for all tenants and has no caller. */
export interface JobContext extends DomainContext {
  readonly objects: ObjectStore;
  readonly config: Pick<Services['config'], 'retention'>;
  /** For numbers only: keys, names and messages of libraries may contain health data. */
  readonly log: Logger;
  /** Aborts when the process stops; a long job checks it between its steps. */
  readonly signal: AbortSignal;
}

/**
 * Scheduled work. It must be idempotent and safe to run twice at the same time: the engine retries it after an error or
 * an interruption, and a process that seemed dead may still be running it.
 */
export interface Job {
  /** The key in the engine's tables: a renamed job is a new job. */
  readonly name: string;
  /** In UTC: minute, hour, day, month, weekday. */
  readonly cron: string;
  readonly run: (context: JobContext) => Promise<unknown>;
}
