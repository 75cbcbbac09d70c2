import type { Quotas } from '../../config.js';

export type LimitName = keyof Quotas;

export interface Usage {
  readonly name: LimitName;
  readonly quota: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  /** Seconds until the whole limit is available again; at least 1. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** Counts the clients' requests. It never fails: without its store it counts in memory. */
export interface Limits {
  /** Counts one use by `key`, against `ownQuota` if the client has its own limit. */
  take(name: LimitName, key: string, ownQuota?: number): Promise<Usage>;
  /** Counts nothing. `isExceeded`: the next use would exceed the limit. */
  look(name: LimitName, key: string): Promise<Usage>;
  /** Closes the connection to the store. */
  close(): void;
}
