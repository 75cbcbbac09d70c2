import type { Schemas } from '../contract.js';
import type { Readiness } from '../runtime/readiness.js';

/** The state of each part. */
export function readinessView({ ready, database, objectStore, documentScanner }: Readiness): Schemas['Readiness'] {
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
