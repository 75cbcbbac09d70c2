import type { Operation } from './operation.js';

/** GET /healthz: the process answers; says nothing about what it depends on. */
export const getLiveness: Operation<'getLiveness'> = async () => ({ status: 200, body: { status: 'ok' } });
