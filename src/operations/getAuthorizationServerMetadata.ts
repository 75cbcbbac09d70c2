import type { Operation } from './operation.js';
import { permissions } from '../domain/access/permissions.js';
import { metadataView } from '../views/oauthView.js';

/** GET /.well-known/oauth-authorization-server (RFC 8414). */
export const getAuthorizationServerMetadata: Operation<'getAuthorizationServerMetadata'> = async (_input, context) => ({
  status: 200,
  body: metadataView(context.baseUrl, permissions),
});
