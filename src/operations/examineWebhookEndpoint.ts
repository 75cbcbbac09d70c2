import type { Operation } from './operation.js';
import type { Output } from '../contract.js';
import { examineEndpoint } from '../domain/sandbox/examination.js';
import { examinationView } from '../views/webhookView.js';
import { earlierResponse, whileReserved, withIdempotency } from './withIdempotency.js';

/** POST /sandbox/examinations: responds after its last request to the receiver; ends early if the caller hangs up. */
export const examineWebhookEndpoint: Operation<'examineWebhookEndpoint'> = async ({ body }, context) => {
  const earlier = await earlierResponse<Output<'examineWebhookEndpoint'>>(context);
  if (earlier) return earlier;
  return whileReserved(context, async () => {
    const report = examinationView(body.endpoint_id, await examineEndpoint(context, body.endpoint_id));
    const respond = () => Promise.resolve({ status: 200 as const, body: report });
    // A retry must not get the report of an examination that ended early.
    return context.hasGone() ? respond() : withIdempotency(context, respond);
  });
};
