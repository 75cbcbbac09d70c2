import type { Operation } from './operation.js';
import * as certificates from '../domain/reviews/certificate.js';
import { certificateStatusView } from '../views/certificateView.js';

/** GET /certificates/{code}: for inspectors, who have no token. Guesses count as failed credentials do. */
export const verifyCertificate: Operation<'verifyCertificate'> = async ({ path }, context) => {
  await context.requestLimits.count('token-failures', 'certificate');
  return { status: 200, body: certificateStatusView(await certificates.verifyCertificate(context, path.code)) };
};
