import type { Operation } from './operation.js';
import { jwksView } from '../views/oauthView.js';

/** GET /.well-known/jwks.json: the public halves of the signing keys (RFC 7517). */
export const getJwks: Operation<'getJwks'> = async (_input, { keys }) => ({
  status: 200,
  body: jwksView(await keys.current()),
});
