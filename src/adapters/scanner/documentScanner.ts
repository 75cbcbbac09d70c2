/** Scans documents for malware before they are stored. */
export interface DocumentScanner {
  /**
   * Passes the bytes through and ends after all were found clean, with constant memory. Rejects with Problem
   * document_rejected or, without a clear verdict, dependency_unavailable: then the bytes must be discarded.
   */
  scanned(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Rejects with Problem dependency_unavailable if the scanner does not answer. */
  check(): Promise<void>;
}
