import type { Operation } from './operation.js';
import type { Output } from '../contract.js';
import { examineEndpoint } from '../domain/sandbox/examination.js';
import { examinationView } from '../views/webhookView.js';
import { earlierResponse, withIdempotency } from './withIdempotency.js';

/** POST /sandbox/examinations: responds after the last request to the receiver. */
export const examineWebhookEndpoint: Operation<'examineWebhookEndpoint'> = async ({ body }, context) => {
  const earlier = await earlierResponse<Output<'examineWebhookEndpoint'>>(context);
  if (earlier) return earlier;
  const report = examinationView(body.endpoint_id, await examineEndpoint(context, body.endpoint_id));
  return withIdempotency(context, () => Promise.resolve({ status: 200, body: report }));
};
