/** Scans documents for malware before they are stored. */
export interface DocumentScanner {
  /**
   * Passes on the bytes of a file and ends only after all were found clean; memory is constant. Rejects with Problem
   * document_rejected or, without a verdict, dependency_unavailable: then discard the bytes already passed on.
   */
  scanned(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}
