/** A file on a remote server, before its body is read. */
export interface RemoteFile {
  /** The media type recognized by the file's content; undefined = unknown. */
  readonly sniffedType: string | undefined;
  readonly declaredType: string | undefined;
  /** The content, which can be read once. Rejects with Problem document_fetch_failed or document_too_large. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface Downloaded<T> {
  readonly value: T;
  readonly sizeBytes: number;
  /** SHA-256 in hex. */
  readonly checksum: string;
}

/**
 * Fetches a URL and passes the file to `use`, which must read its body to the end. Closes the connection afterwards,
 * even after an error. Memory does not depend on the file's size.
 * @throws Problem document_url_invalid, document_url_forbidden, document_fetch_failed, document_empty,
 * document_too_large, or the error of `use`
 */
export type Downloader = <T>(
  url: string,
  limits: { readonly maxBytes: number },
  use: (file: RemoteFile) => Promise<T>,
) => Promise<Downloaded<T>>;
