import { name, version } from '../packageRoot.js';
import type { Operation } from './operation.js';

/** GET /healthz: the process responds; its dependencies are not checked. */
export const getLiveness: Operation<'getLiveness'> = async () => ({
  status: 200,
  body: { status: 'ok', service: name, version },
});
