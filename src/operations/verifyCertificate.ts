import type { Operation } from './operation.js';
import * as certificates from '../domain/reviews/certificate.js';
import { certificateStatusView } from '../views/certificateView.js';

/** GET /certificates/{code}: for inspectors, who have no token. Limited by address. */
export const verifyCertificate: Operation<'verifyCertificate'> = async ({ path }, context) => {
  await context.requestLimits.count('certificates', '');
  return { status: 200, body: certificateStatusView(await certificates.verifyCertificate(context, path.code)) };
};
