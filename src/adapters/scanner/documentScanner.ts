/** Looks for malware in documents on their way into the object store. */
export interface DocumentScanner {
  /**
   * The same bytes, which end only after the scanner has found all of them clean: a caller that stores nothing of a body
   * that rejects stores nothing unscanned. Memory does not depend on the size of the body, and the scanner's pace is
   * the reader's. Rejects with Problem document_rejected, or dependency_unavailable when there is no clear verdict.
   */
  scanned(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Rejects with Problem dependency_unavailable when the scanner does not answer. */
  check(): Promise<void>;
}
