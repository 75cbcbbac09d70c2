export interface LinkedObject {
  readonly fileName: string;
  readonly contentType: string;
}

interface LinkedFile {
  readonly key: string;
  /** Absolute path of the file on this machine. */
  readonly path: string;
}

export interface ListedObject {
  readonly key: string;
  /** When the object was stored, by the store's clock. */
  readonly modifiedAt: Date;
}

/** The cause of a Problem if the store answers but a setting is wrong; the message names the variable. */
export class WrongStoreSetting extends Error {}

/** Objects by key. If they cannot be reached or written, methods reject with Problem dependency_unavailable. */
export interface StoredObjects {
  /** Stores the whole body, or nothing if the body throws. Memory does not depend on its size. */
  put(key: string, body: AsyncIterable<Uint8Array>, contentType: string): Promise<void>;
  /** Reads an object. Rejects with Problem dependency_unavailable, also if the object is missing. */
  read(key: string): AsyncIterable<Uint8Array>;
  remove(key: string): Promise<void>;
  /** All keys, or those below a folder, unordered. Changes made meanwhile may be missed. */
  list(folder?: string): AsyncIterable<ListedObject>;
  /** Removes the remains of unfinished uploads that were last written before the given time. @returns their number */
  removeUnfinished(before: Date): Promise<number>;
  /** Rejects if the store is unusable. The cause may be a {@link WrongStoreSetting}. */
  check(): Promise<void>;
}

/** The store of documents, which also creates links to them. */
export interface ObjectStore extends StoredObjects {
  readonly provider: 'file' | 's3';
  /** The name of the bucket or folder, which the API calls `container`. */
  readonly container: string;
  /** A link to GET the object for `seconds` from `now`. A link that leads to this service contains no file name. */
  link(key: string, object: LinkedObject, now: Date, seconds: number): Promise<string>;
  /** Whether the bucket keeps old versions of its objects; absent for files. */
  readonly isVersioned?: () => Promise<boolean>;
  /** Exists if links lead to this service: the file for a link's last segment; undefined if invalid or expired. */
  readonly openLink?: (link: string, now: Date) => Promise<LinkedFile | undefined>;
}
