/** A file on somebody else's server, about to be read. */
export interface RemoteFile {
  /** The type by content, or undefined when it is unknown. */
  readonly sniffedType: string | undefined;
  /** The server's Content-Type as sent, or undefined. */
  readonly declaredType: string | undefined;
  /** The whole content; can be read once. Rejects with a Problem: document_fetch_failed or document_too_large. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** What was read, and what the reader made of it. */
export interface Downloaded<T> {
  readonly value: T;
  readonly sizeBytes: number;
  /** SHA-256 in hex. */
  readonly checksum: string;
}

/**
 * Fetches a URL and hands the file to `use`, which has to read its body to the end; however `use` ends, the connection
 * is closed then. Memory does not depend on the size of the file.
 * @throws Problem document_url_invalid, document_url_forbidden, document_fetch_failed, document_empty,
 *   document_too_large, or whatever `use` throws
 */
export type Downloader = <T>(
  url: string,
  limits: { readonly maxBytes: number },
  use: (file: RemoteFile) => Promise<T>,
) => Promise<Downloaded<T>>;
