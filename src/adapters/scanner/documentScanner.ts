/** Looks for malware in documents on their way into the object store. */
export interface DocumentScanner {
  /**
   * The same bytes, which end after all were found clean, in memory that does not depend on their number. Rejects with
   * Problem document_rejected or, with no clear verdict, dependency_unavailable: then nothing may be kept of them.
   */
  scanned(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Rejects with Problem dependency_unavailable when the scanner does not answer. */
  check(): Promise<void>;
}
