import type { Schemas } from '../contract.js';
import type { Parts } from '../context.js';

export function readinessView(parts: Parts, ready: boolean): Schemas['Readiness'] {
  const { database, objectStore, documentScanner, disk } = parts;
  const check = (works: boolean) => (works ? 'ok' : 'failing');
  const checkIfUsed = (works: boolean | null) => (works === null ? 'off' : check(works));
  return {
    status: ready ? 'ready' : 'unavailable',
    checks: {
      database: check(database),
      objectStore: check(objectStore),
      documentScanner: checkIfUsed(documentScanner),
      disk: checkIfUsed(disk),
    },
  };
}
