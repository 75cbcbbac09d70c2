import type { Context } from '../../context.js';
import type { Schemas } from '../../contract.js';
import { requireSandbox } from '../access/sandboxTenants.js';
import { isSuccess, post, secretsOf, type Attempt } from '../webhooks/deliver.js';
import { getTarget } from '../webhooks/endpoints.js';
import { signedHeaders } from '../webhooks/signature.js';
import { samples, type SampleType } from './webhookFixtures.js';

/** The result of one check: whether the receiver did what the check expects. */
export interface CheckResult extends Omit<Schemas['ExaminationCheck'], 'seen'> {
  readonly seen: readonly Attempt[];
}

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Envelope {
  readonly type: string;
  readonly timestamp: string;
  readonly data: object;
}

type EndpointTarget = Awaited<ReturnType<typeof getTarget>>;

/** Creates messages to the examined endpoint. */
interface Maker {
  /** The first event that was sent, validly signed. */
  readonly valid: Message;
  readonly ping: (ageMs?: number) => Envelope;
  readonly sample: (type: SampleType, ageMs?: number) => Envelope;
  /** Whether the endpoint receives events of a type. */
  readonly isWanted: (type: SampleType) => boolean;
  /** Signs an event like a real delivery; other secrets and an older timestamp can be given. */
  readonly signed: (event: Envelope, secrets?: readonly Uint8Array[], ageMs?: number) => Message;
  /** The endpoint's secrets that are valid now. */
  readonly secrets: readonly Uint8Array[];
  readonly foreignSecret: () => Uint8Array;
}

interface Check {
  readonly name: CheckResult['name'];
  readonly remedy: string;
  /** The messages of the check; none if the endpoint does not receive the types that the check needs. */
  readonly messages: (maker: Maker) => readonly Message[];
}

/** Milliseconds after which no request begins: the report arrives within the 30 s for which our client waits. */
const LAST_REQUEST_MS = 12_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Types of events in the order of sending, the latest event first. */
const reordered = ['order.created', 'encounter.completed', 'encounter.created'] as const;
const needs = (maker: Maker, type: SampleType): readonly Message[] =>
  maker.isWanted(type) ? [maker.signed(maker.sample(type))] : [];

/** The checks after the first event. Forgeries are pings: every endpoint receives those, and they name no record. */
const checks: readonly Check[] = [
  {
    name: 'accepts_duplicate',
    remedy: 'Respond with a 2xx to an event whose `webhook-id` you have handled already: a lost response repeats it.',
    messages: ({ valid }) => [valid],
  },
  {
    name: 'rejects_wrong_signature',
    remedy: 'Verify `webhook-signature` with the secret of the endpoint, and respond 400 if no signature matches.',
    messages: ({ ping, signed, foreignSecret }) => [signed(ping(), [foreignSecret()])],
  },
  {
    name: 'rejects_partial_signature',
    remedy: 'Compare the whole signature, in constant time, not only its beginning.',
    messages: ({ ping, signed }) => [altered(signed(ping())), truncated(signed(ping()))],
  },
  {
    name: 'rejects_missing_signature',
    remedy: 'Respond 400 to a request without `webhook-signature`: anyone can send to your URL.',
    messages: ({ ping, signed }) => {
      const { headers, body } = signed(ping());
      const { 'webhook-signature': _omitted, ...others } = headers;
      return [{ headers: others, body }];
    },
  },
  {
    name: 'rejects_old_timestamp',
    remedy:
      'Reject a `webhook-timestamp` that differs by more than 5 minutes from your clock, so that a recorded request cannot be repeated.',
    messages: ({ ping, signed, secrets }) => [signed(ping(), secrets, HOUR)],
  },
  {
    name: 'rejects_changed_body',
    remedy: 'Verify the signature of `webhook-id`, `webhook-timestamp` and the body, joined by dots.',
    messages: ({ ping, signed }) => [{ ...signed(ping()), body: JSON.stringify(ping(MINUTE)) }],
  },
  {
    name: 'rejects_reformatted_body',
    remedy:
      'Verify the bytes of the body as they arrived, before you parse it; do not serialize the parsed body again.',
    messages: ({ ping, signed }) => {
      const event = ping();
      return [{ ...signed(event), body: JSON.stringify(event, null, 2) }];
    },
  },
  {
    name: 'accepts_second_signature',
    remedy:
      'Accept the request if any signature of the list matches: during a rotation there are two, separated by a space.',
    messages: ({ ping, signed, secrets, foreignSecret }) => [
      signed(ping(), [foreignSecret(), ...secrets]),
      signed(ping(), [...secrets, foreignSecret()]),
    ],
  },
  {
    name: 'accepts_unknown_type',
    remedy: 'Respond with a 2xx to types that you do not know, and ignore them: more will be added.',
    messages: ({ ping, signed }) => [signed({ ...ping(), type: 'example.added_later' })],
  },
  {
    name: 'accepts_unknown_fields',
    remedy: 'Ignore fields that you do not know: more will be added.',
    messages: ({ ping, sample, isWanted, signed }) => {
      const event = isWanted('order.paid') ? sample('order.paid') : ping();
      const added = { added_later: 'example' };
      return [signed({ ...event, data: { ...event.data, ...added }, ...added })];
    },
  },
  {
    name: 'accepts_delayed_event',
    remedy:
      'Compare only `webhook-timestamp`, the time of the attempt, with your clock: the `timestamp` of an event is hours ago when it arrives after an outage.',
    messages: ({ ping, signed }) => [signed(ping(HOUR))],
  },
  {
    name: 'accepts_reordered_events',
    remedy: 'Accept events in every order: keep the one with the latest `timestamp`, or retrieve the record.',
    messages: ({ sample, isWanted, signed }) => {
      const types = reordered.filter(isWanted);
      return types.length < 2 ? [] : types.map((type, index) => signed(sample(type, index * MINUTE)));
    },
  },
  {
    name: 'accepts_late_denial',
    remedy:
      'Accept `encounter.denied` after another encounter of the patient was completed, and do not treat by the earlier approval.',
    messages: (maker) => needs(maker, 'encounter.denied'),
  },
  {
    name: 'accepts_revoked_approval',
    remedy: 'Accept `gfe.revoked` after `encounter.completed`, and stop what the approval allowed.',
    messages: (maker) => needs(maker, 'gfe.revoked'),
  },
];

/** The reasons why a check is not judged. */
const reasons = {
  notAccepted: 'Not judged, because the receiver does not accept a valid event.',
  tooSlow: 'Not judged, because earlier responses took too long: respond before you process the event.',
  tooFewTypes: 'Not judged, because the endpoint does not receive these events: add their types.',
  noResponse: 'Not judged, because a request had no response: examine the receiver again.',
};

/**
 * Sends test messages to the receiver of an endpoint, one after the other, and judges its responses.
 * @throws Problem sandbox_only, webhook_endpoint_not_found
 */
export async function examineEndpoint(context: Context, endpointId: string): Promise<readonly CheckResult[]> {
  requireSandbox(context);
  const target = await getTarget(context, endpointId);
  return context.withoutSlot(() => examine(context, target));
}

async function examine(context: Context, target: EndpointTarget): Promise<readonly CheckResult[]> {
  const { realNow, hasGone } = context;
  const end = realNow().getTime() + LAST_REQUEST_MS;
  const maker = makerOf(context, target);
  const send = async ({ headers, body }: Message): Promise<Attempt> => {
    const { at, http_status, error, duration_ms } = await post(context, target, headers, body);
    return { at, http_status, error, duration_ms };
  };
  const first = await send(maker.valid);
  const results = [...judgeFirst(first)];
  for (const { name, remedy, messages } of checks) {
    const wanted = isSuccess(first) ? messages(maker) : [];
    const seen: Attempt[] = [];
    for (const message of wanted) if (realNow().getTime() < end && !hasGone()) seen.push(await send(message));
    const notJudged = (reason: string): CheckResult => ({ name, outcome: 'not_judged', seen, remedy: reason });
    if (!isSuccess(first)) results.push(notJudged(reasons.notAccepted));
    else if (wanted.length === 0) results.push(notJudged(reasons.tooFewTypes));
    else if (seen.length < wanted.length) results.push(notJudged(reasons.tooSlow));
    else if (isRejection(name) && seen.some(isLost)) results.push(notJudged(reasons.noResponse));
    else results.push(judged(name, seen, remedy, isRejection(name) ? isRejected : isSuccess));
  }
  return results;
}

function makerOf({ now, realNow, newId, randomBytes }: Context, target: EndpointTarget): Maker {
  const secrets = secretsOf(target, now());
  const event = (type: string, data: object, ageMs = 0): Envelope => ({
    type,
    timestamp: new Date(now().getTime() - ageMs).toISOString(),
    data,
  });
  const ping = (ageMs?: number): Envelope => event('webhook.ping', { endpoint_id: target.id }, ageMs);
  const signed: Maker['signed'] = (envelope, by = secrets, ageMs = 0) => {
    const body = JSON.stringify(envelope);
    return { headers: signedHeaders(by, newId(), new Date(realNow().getTime() - ageMs), body), body };
  };
  return {
    ping,
    sample: (type, ageMs) => event(type, samples[type], ageMs),
    isWanted: (type) => target.types.length === 0 || target.types.includes(type),
    signed,
    valid: signed(ping()),
    secrets,
    foreignSecret: () => randomBytes(target.secret.length),
  };
}

const isLost = ({ http_status: status }: Attempt): boolean => status === null;
const isRedirect = ({ http_status: status }: Attempt): boolean => status !== null && status >= 300 && status < 400;
const isRejected = ({ http_status: status }: Attempt): boolean => status !== null && status >= 400;
const isRejection = (name: CheckResult['name']): boolean => name.startsWith('rejects_');

function judged(
  name: CheckResult['name'],
  seen: readonly Attempt[],
  remedy: string,
  isMet: (attempt: Attempt) => boolean,
): CheckResult {
  const isPassed = seen.every(isMet);
  return { name, outcome: isPassed ? 'passed' : 'failed', seen, remedy: isPassed ? null : remedy };
}

/** The results of the three checks of the first request. */
function judgeFirst(first: Attempt): readonly CheckResult[] {
  const seen = [first];
  const unjudged = { outcome: 'not_judged', seen, remedy: reasons.noResponse } as const;
  const reachable =
    'Make the URL reachable at a public address with a trusted certificate, and respond within 15 seconds.';
  const direct = 'Register the final URL: redirects are not followed.';
  const accepted =
    'Respond with a 2xx to a correctly signed event, including `webhook.ping`. Check the secret, your clock, and that you verify the bytes of the body as they arrived.';
  const answered = judged('responds_in_time', seen, reachable, (attempt) => !isLost(attempt));
  if (isLost(first)) {
    return [answered, { name: 'does_not_redirect', ...unjudged }, { name: 'accepts_valid_event', ...unjudged }];
  }
  return [
    answered,
    judged('does_not_redirect', seen, direct, (attempt) => !isRedirect(attempt)),
    judged('accepts_valid_event', seen, accepted, isSuccess),
  ];
}

const withSignatures = ({ headers, body }: Message, change: (signature: string) => string): Message => {
  const signatures = headers['webhook-signature']?.split(' ') ?? [];
  return { headers: { ...headers, 'webhook-signature': signatures.map(change).join(' ') }, body };
};

/** A message with another last letter in its signature, before the padding. Decoders may ignore the very last one. */
const altered = (message: Message): Message =>
  withSignatures(message, (one) => `${one.slice(0, -3)}${one.at(-3) === 'A' ? 'B' : 'A'}${one.slice(-2)}`);

const truncated = (message: Message): Message => withSignatures(message, (one) => one.slice(0, one.length / 2));
