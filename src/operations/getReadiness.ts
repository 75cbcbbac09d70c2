import type { Operation } from './operation.js';

/** GET /readyz: 503 while the database is down, or the process starts or stops. */
export const getReadiness: Operation<'getReadiness'> = async (_input, { hasDatabase, isServing }) => {
  const answers = await hasDatabase();
  const database = answers ? 'ok' : 'failing';
  if (answers && isServing()) return { status: 200, body: { status: 'ready', database } };
  return { status: 503, body: { status: 'unavailable', database } };
};
