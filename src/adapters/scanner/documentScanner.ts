/** Looks for malware in documents on their way into the object store. */
export interface DocumentScanner {
  /**
   * The same bytes, which end after all were found clean; who stores nothing of a body that rejects stores nothing unscanned.
   * Memory does not depend on its size. Rejects with Problem document_rejected or, with no clear verdict, dependency_unavailable.
   */
  scanned(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Rejects with Problem dependency_unavailable when the scanner does not answer. */
  check(): Promise<void>;
}
