/** How a link to an object is to serve it. */
export interface LinkedObject {
  readonly fileName: string;
  readonly contentType: string;
}

/** An object of the file store that a link leads to. */
interface LinkedFile {
  readonly key: string;
  /** Absolute path on this machine. */
  readonly path: string;
}

/** An object as the store lists it. */
export interface ListedObject {
  readonly key: string;
  /** When it was stored, by the store's clock. */
  readonly modifiedAt: Date;
}

/** Why a store that answers will never serve: its message names the variable that is wrong. */
export class WrongStoreSetting extends Error {}

/** Where documents lie. A store that can't be reached or can't write rejects with Problem dependency_unavailable. */
export interface ObjectStore {
  readonly provider: 'file' | 's3';
  /** Bucket or folder, as the interface's `container`. */
  readonly container: string;
  /** Stores all of the body, or nothing and throws as the body does. Memory does not depend on its size. */
  put(key: string, body: AsyncIterable<Uint8Array>, contentType: string): Promise<void>;
  /** The whole object. Rejects with Problem dependency_unavailable also when there is none. */
  read(key: string): AsyncIterable<Uint8Array>;
  /** Removes the object; it is no error when there is none. */
  remove(key: string): Promise<void>;
  /** All keys, unordered. Concurrent changes may or may not appear. */
  list(): AsyncIterable<ListedObject>;
  /** Removes what uploads that never ended have left, if they began before the given time; returns how many. */
  removeUnfinished(before: Date): Promise<number>;
  /** A GET link that works for `seconds` from `now`. One that leads to this service holds the key only. */
  link(key: string, object: LinkedObject, now: Date, seconds: number): Promise<string>;
  /** Rejects when the store can't serve, for readiness and for the start; the cause may be a {@link WrongStoreSetting}. */
  check(): Promise<void>;
  /** If links lead to this service: the file of one's last segment; undefined when it is not ours or has expired. */
  readonly openLink?: (link: string, now: Date) => LinkedFile | undefined;
}
