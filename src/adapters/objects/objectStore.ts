export interface LinkedObject {
  readonly fileName: string;
  readonly contentType: string;
}

interface LinkedFile {
  readonly key: string;
  /** Absolute path on this machine. */
  readonly path: string;
}

export interface ListedObject {
  readonly key: string;
  /** The time of storing, by the store's clock. */
  readonly modifiedAt: Date;
}

/** The store answers, but a setting is wrong; the message names the variable. */
export class WrongStoreSetting extends Error {}

/** If the objects cannot be reached or written, methods reject with Problem dependency_unavailable. */
export interface StoredObjects {
  /** Stores the whole body, or nothing if the body throws. Memory is independent of its size. */
  put(key: string, body: AsyncIterable<Uint8Array>, contentType: string): Promise<void>;
  /** The object. Rejects with Problem dependency_unavailable, including when it is missing. */
  read(key: string): AsyncIterable<Uint8Array>;
  remove(key: string): Promise<void>;
  /** All keys, or those below a folder, unordered. Concurrent changes may or may not appear. */
  list(folder?: string): AsyncIterable<ListedObject>;
  /** Removes the remains of unfinished uploads begun before the given time; returns their number. */
  removeUnfinished(before: Date): Promise<number>;
  /** Checks the store, for readiness and the start; the cause of the rejection may be a {@link WrongStoreSetting}. */
  check(): Promise<void>;
}

/** Stores documents. */
export interface ObjectStore extends StoredObjects {
  readonly provider: 'file' | 's3';
  /** Bucket or folder, the API's `container`. */
  readonly container: string;
  /** A GET link that is valid for `seconds` from `now`. Links to this service contain only the key. */
  link(key: string, object: LinkedObject, now: Date, seconds: number): Promise<string>;
  /** Whether a bucket keeps the versions of its objects. */
  readonly isVersioned?: () => Promise<boolean>;
  /** If links lead to this service: the file for a link's last segment; undefined if invalid or expired. */
  readonly openLink?: (link: string, now: Date) => LinkedFile | undefined;
}
