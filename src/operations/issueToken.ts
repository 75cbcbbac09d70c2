import type { Operation } from './operation.js';
import { grantTokens } from '../domain/access/issueTokens.js';

/** POST /oauth/token: by client credentials, or with a refresh token in addition (RFC 6749 §4.4 and §6). */
export const issueToken: Operation<'issueToken'> = async ({ body }, context) => ({
  status: 200,
  body: await grantTokens(context, body),
});
