import type { Quotas } from '../../config.js';

/** A limit. */
export type LimitName = keyof Quotas;

/** What is left of a limit. */
export interface Usage {
  readonly name: LimitName;
  readonly quota: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  /** Until all of it can be used again; at least 1. */
  readonly resetSeconds: number;
  /** Whether this one is too many. */
  readonly isExceeded: boolean;
}

/** Counts what clients do. It never fails: without its store it counts in memory. */
export interface Limits {
  /** Counts one of `key`, against `ownQuota` if the operator gave this client a limit of its own. */
  take(name: LimitName, key: string, ownQuota?: number): Promise<Usage>;
  /** Counts nothing. `isExceeded`: the next one would be too many. */
  look(name: LimitName, key: string): Promise<Usage>;
  /** Leaves the store. */
  close(): void;
}
