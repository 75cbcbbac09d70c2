import { randomBytes, randomUUID } from 'node:crypto';
import type { WebhookEvent } from '../webhooks.js';
import { keyOf, signedHeaders } from './delivery.js';

export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Envelope {
  readonly type: string;
  readonly timestamp: string;
  readonly data: object;
}

export interface Check {
  readonly name: string;
  /** How to meet the expectation. */
  readonly remedy: string;
  /** The messages of the check in the order of sending. */
  readonly messages: (maker: Maker) => readonly Message[];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const encounter = { encounter_id: 100126, gfe_no: 'GFE-100126' };
const order_no = 'ORD-100045';
const patientId = '01a10caf-a4c0-7000-8000-00000000d001';

/** Events about records of a sandbox after a reset, so that the receiver can retrieve the records. */
const samples = {
  'encounter.created': {
    ...encounter,
    status: 'pending_review',
    reviewType: 'asynchronous',
    clinicId: '01a05c32-5e80-7000-8000-00000000c101',
    patientId,
  },
  'encounter.completed': { ...encounter, approved: 2, denied: 0, order_no },
  'order.created': {
    order_no,
    encounter_id: encounter.encounter_id,
    order_status: 'pending',
    grand_total: '554.00',
    balance_amt: '554.00',
  },
  'order.paid': {
    order_no: 'ORD-100051',
    encounter_id: 100131,
    order_status: 'paid',
    grand_total: '299.00',
    balance_amt: '0.00',
  },
  'encounter.denied': { encounter_id: 100124, gfe_no: 'GFE-100124', denied: 1 },
  'gfe.revoked': {
    ...encounter,
    patientId,
    categoryId: '01a05c32-5e80-7000-8000-00000000ca01',
    subcategoryId: '01a05c32-5e80-7000-8000-0000005ca101',
    treatmentIds: ['01a05c32-5e80-7000-8000-00000000b201'],
    by_encounter_id: encounter.encounter_id,
    order_no,
  },
  'webhook.ping': { endpointId: '01a1f9b8-cbc0-7000-8000-00000000ab01' },
} satisfies { readonly [Type in WebhookEvent['type']]?: Extract<WebhookEvent, { type: Type }>['data'] };

type Maker = ReturnType<typeof makerOf>;

/** Creates messages that are signed with a secret. */
export function makerOf(secret: string) {
  const key = keyOf(secret);
  const event = (type: keyof typeof samples, ageMs = 0): Envelope => ({
    type,
    timestamp: new Date(Date.now() - ageMs).toISOString(),
    data: samples[type],
  });
  /** Signs an event like the service: by default with the right key, and now. */
  const signed = (envelope: Envelope, keys = [key], ageMs = 0): Message => {
    const body = JSON.stringify(envelope);
    return { headers: signedHeaders(keys, randomUUID(), body, Date.now() - ageMs), body };
  };
  const ping = (ageMs?: number): Envelope => event('webhook.ping', ageMs);
  // The first event that is sent.
  const valid = signed(ping());
  return { event, ping, signed, valid, key, foreignKey: randomBytes(key.length) };
}

/** The checks after the first event. Forgeries are pings: a receiver that accepts one changes no record. */
export const checks: readonly Check[] = [
  {
    name: 'accepts_duplicate',
    remedy:
      'Respond with a 2xx to an event whose `webhook-id` you have handled already: the service repeats an event whose response it did not get.',
    messages: ({ valid }) => [valid],
  },
  {
    name: 'rejects_wrong_signature',
    remedy: 'Verify `webhook-signature` with the secret of the endpoint, and respond 400 if no signature matches.',
    messages: ({ ping, signed, foreignKey }) => [signed(ping(), [foreignKey])],
  },
  {
    name: 'rejects_partial_signature',
    remedy: 'Compare the whole signature, in constant time, not only its beginning, and respond 400 if it differs.',
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
      'Respond 400 to a `webhook-timestamp` that differs by more than 5 minutes from your clock, so that a recorded request cannot be repeated.',
    messages: ({ ping, signed, key }) => [signed(ping(), [key], HOUR)],
  },
  {
    name: 'rejects_changed_body',
    remedy:
      'Verify the signature of `webhook-id`, `webhook-timestamp` and the body, joined by dots, and respond 400 if it does not match.',
    messages: ({ ping, signed }) => [{ ...signed(ping()), body: JSON.stringify(ping(MINUTE)) }],
  },
  {
    name: 'rejects_reformatted_body',
    remedy:
      'Verify the bytes of the body as they arrived, before you parse it; do not serialize the parsed body again. Respond 400 if the signature does not match.',
    messages: ({ ping, signed }) => {
      const event = ping();
      return [{ ...signed(event), body: JSON.stringify(event, null, 2) }];
    },
  },
  {
    name: 'accepts_second_signature',
    remedy:
      'Accept the request if any signature of the list matches: during a rotation there are two, separated by a space.',
    messages: ({ ping, signed, key, foreignKey }) => [
      signed(ping(), [foreignKey, key]),
      signed(ping(), [key, foreignKey]),
    ],
  },
  {
    name: 'accepts_unknown_type',
    remedy: 'Respond with a 2xx to types that you do not know, and ignore them: more will be added.',
    messages: ({ ping, signed }) => [signed({ ...ping(), type: 'example.added_later' })],
  },
  {
    name: 'accepts_unknown_fields',
    remedy: 'Respond with a 2xx to events with fields that you do not know, and ignore these: more will be added.',
    messages: ({ event, signed }) => {
      const paid = event('order.paid');
      const added = { added_later: 'example' };
      return [signed({ ...paid, data: { ...paid.data, ...added }, ...added })];
    },
  },
  {
    name: 'accepts_delayed_event',
    remedy:
      'Compare only `webhook-timestamp`, the time of the attempt, with your clock: after an outage, the `timestamp` of an event is hours ago.',
    messages: ({ ping, signed }) => [signed(ping(HOUR))],
  },
  {
    name: 'accepts_reordered_events',
    remedy: 'Accept events in every order: keep the one with the latest `timestamp`, or retrieve the record.',
    messages: ({ event, signed }) => [
      signed(event('order.created')),
      signed(event('encounter.completed', MINUTE)),
      signed(event('encounter.created', 2 * MINUTE)),
    ],
  },
  {
    name: 'accepts_late_denial',
    remedy:
      'Accept `encounter.denied` after another encounter of the patient was completed, and do not treat by the earlier approval.',
    messages: ({ event, signed }) => [signed(event('encounter.denied'))],
  },
  {
    name: 'accepts_revoked_approval',
    remedy: 'Accept `gfe.revoked` after `encounter.completed`, and stop what the approval allowed.',
    messages: ({ event, signed }) => [signed(event('gfe.revoked'))],
  },
];

const withSignature = ({ headers, body }: Message, change: (signature: string) => string): Message => ({
  headers: { ...headers, 'webhook-signature': change(headers['webhook-signature'] ?? '') },
  body,
});

/** A message with the last letter but one of its signature changed. Decoders may ignore a change of the last one. */
const altered = (message: Message): Message =>
  withSignature(message, (signature) => {
    const other = signature.at(-3) === 'A' ? 'B' : 'A';
    return `${signature.slice(0, -3)}${other}${signature.slice(-2)}`;
  });

const truncated = (message: Message): Message =>
  withSignature(message, (signature) => signature.slice(0, signature.length / 2));
