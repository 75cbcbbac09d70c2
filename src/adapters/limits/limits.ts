import type { Quotas } from '../../config.js';

export type LimitName = keyof Quotas;

export interface Usage {
  readonly name: LimitName;
  readonly quota: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  /** Seconds until the window ends and the whole quota is available again; minimum 1. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** Counts the clients' requests. It never fails: if Redis is down, it counts in memory. */
export interface Limits {
  /** Counts one use by `key`. `ownQuota` is the client's own limit, if it has one. */
  take(name: LimitName, key: string, ownQuota?: number): Promise<Usage>;
  /** Reads the count without increasing it. `isExceeded`: the next use would exceed the limit. */
  look(name: LimitName, key: string): Promise<Usage>;
  /** Closes the connection to Redis. */
  close(): void;
}
