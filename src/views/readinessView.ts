import type { Schemas } from '../contract.js';
import type { Parts } from '../context.js';

/** The state of each part. */
export function readinessView({ database, objectStore, documentScanner }: Parts, ready: boolean): Schemas['Readiness'] {
  const check = (works: boolean) => (works ? 'ok' : 'failing');
  return {
    status: ready ? 'ready' : 'unavailable',
    checks: {
      database: check(database),
      objectStore: check(objectStore),
      documentScanner: documentScanner === null ? 'off' : check(documentScanner),
    },
  };
}
