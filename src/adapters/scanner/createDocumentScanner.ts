import type { DocumentScannerConfig } from '../../config.js';
import { createClamavScanner } from './clamavScanner.js';
import type { DocumentScanner } from './documentScanner.js';

/** Creates the configured scanner, which connects at the first scan. */
export function createDocumentScanner(config: DocumentScannerConfig): DocumentScanner {
  if (config.kind === 'clamav') return createClamavScanner({ address: config.address });
  return { scanned: (body) => body };
}
