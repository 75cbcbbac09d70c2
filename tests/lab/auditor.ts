import { isDeepStrictEqual } from 'node:util';
import { isAnswer, success, type Attempt, type Intent, type Json } from './history.js';
import { auditRecords, eventsByRecord, ordersOf, recordEvents, type Evidence, type FeedEvent } from './records.js';

/** Everything about one tenant that the auditor judges. */
export interface Case extends Evidence {
  /** The feed after the webhooks arrived: leases may have ended meanwhile. */
  readonly told: readonly FeedEvent[];
  /** Rows of the audit. */
  readonly rows: readonly Json[];
  /** Of every request, those of the auditor included. */
  readonly requestIds: ReadonlySet<string>;
  /** Webhooks received at the endpoint that subscribes to every event. */
  readonly received: readonly { readonly id: string; readonly body: Json }[];
}

/** Judges a run by the public rules (openapi/rules.md). @returns the anomalies */
export function audit(cases: readonly Case[]): string[] {
  const ofTenants = cases.flatMap((one) => {
    const checks = [answers, replays, orders, feed, webhooks, auditRows, emails, auditRecords];
    return checks.flatMap((check) => check(one).map((anomaly) => `${one.tenant.id}: ${anomaly}`));
  });
  return [...ofTenants, ...numbers(cases), ...isolation(cases)];
}

const attemptsOf = (intents: readonly Intent[]): { intent: Intent; attempt: Attempt }[] =>
  intents.flatMap((intent) => intent.attempts.map((attempt) => ({ intent, attempt })));
const name = ({ operation, client }: Intent, { requestId }: Attempt): string =>
  `${operation} of ${client.name} (${requestId})`;
function repeated<T>(values: readonly T[]): T[] {
  const last = new Map(values.map((value, index) => [value, index]));
  return values.filter((value, index) => last.get(value) !== index);
}

/** Statuses and codes that no careful client may see. */
function answers({ intents, tenant }: Case): string[] {
  return attemptsOf(intents).flatMap(({ intent, attempt }) => {
    const { status, body } = attempt;
    if (!isAnswer(attempt)) return status === 500 ? [`${name(intent, attempt)}: 500`] : [];
    const shown = `${name(intent, attempt)}: ${status} ${body?.code ?? ''}`;
    if (intent.isForeign) return String(body?.code).endsWith('_not_found') ? [] : [`another tenant's record: ${shown}`];
    if (intent.isReuse) return body?.code === 'idempotency_key_reused' ? [] : [`a key with another body: ${shown}`];
    const isElsewhere = body?.code === 'clinic_not_permitted' && intent.client.role === 'limited';
    const isUnseen =
      /^(order|patient|encounter)_not_found$|^patient_access_denied$/.test(body?.code) &&
      intent.client.role === 'limited';
    // Another client deleted the endpoint first.
    const isDeleted = /^(delete|rotate|update|ping|replay)Webhook/.test(intent.operation) && status === 404;
    if (isElsewhere || isUnseen || isDeleted) return [];
    const isFormal = status === 400 && !/decisions_incomplete|validation_failed|visit_required/.test(body?.code);
    return isFormal || status === 401 || status === 403 || status === 404 || status === 405
      ? [`unexpected for ${tenant.id}: ${shown}`]
      : [];
  });
}

/** every success of one key has one body. */
function replays({ intents }: Case): string[] {
  return intents.flatMap((intent) => {
    const first = success(intent);
    if (!first || intent.key === undefined) return [];
    // A secret is shown once.
    const shown = ({ body, status }: Attempt) => [status, { ...body, secret: 0, secretNotice: 0 }];
    const others = intent.attempts.filter(
      (attempt) => attempt !== first && attempt.status !== null && attempt.status < 300,
    );
    return others
      .filter((other) => !isDeepStrictEqual(shown(other), shown(first)) || !(other.isReplay || first.isReplay))
      .map((other) => `${name(intent, other)} is not the response to its first request`);
  });
}

/** An encounter always shows one order number, and no other encounter shows that number. */
function orders({ intents }: Case): string[] {
  const bodies = attemptsOf(intents).flatMap(({ attempt: { body, status } }) =>
    status !== null && status < 300 ? [body, ...(body?.data ?? [])] : [],
  );
  const numbersOf = new Map<number, Set<string>>();
  for (const { encounter_id, order_no } of bodies.filter((body) => body?.gfe_no && body.version && body.order_no)) {
    numbersOf.set(encounter_id, (numbersOf.get(encounter_id) ?? new Set()).add(order_no));
  }
  const several = [...numbersOf].filter(([, those]) => those.size > 1);
  const shared = repeated([...numbersOf.values()].flatMap((those) => [...those]));
  return [
    ...several.map(([encounter, those]) => `encounter ${encounter} has the orders ${[...those].join()}`),
    ...shared.map((order) => `${order} belongs to several encounters`),
  ];
}

/** the pages that clients read make up the feed, and a client requested each record in the feed. */
function feed({ intents, feed: events }: Case): string[] {
  const twice = repeated(events.map(({ id }) => id)).map((id) => `the feed has the event ${id} twice`);
  const clients = new Set(intents.map(({ client }) => client));
  // Only the client of an endpoint sees its pings.
  const shared = (some: readonly FeedEvent[]) => some.filter(({ type }) => type !== 'webhook.ping');
  const pages = [...clients].flatMap((client) => {
    const polls = intents.filter((intent) => intent.client === client && intent.operation === 'listEvents');
    const seen = shared(polls.flatMap((intent) => success(intent)?.body.data ?? []));
    // A client that is limited to clinics sees only a part of the feed.
    const ids = new Set(seen.map(({ id }) => id));
    const expected =
      client.role === 'limited' ? events.filter(({ id }) => ids.has(id)) : shared(events).slice(0, seen.length);
    return isDeepStrictEqual(seen, expected) ? [] : [`the pages of the feed that ${client.name} read are not the feed`];
  });
  const created = (operation: string, field: string) =>
    intents
      .filter((intent) => intent.operation === operation)
      .flatMap((intent) => success(intent)?.body?.[field] ?? []);
  const known = new Set(
    [
      ...created('createEncounter', 'encounter_id'),
      ...created('createPatient', 'user_id'),
      ...created('uploadPatientDocument', 'documentId'),
      ...ordersOf(intents).keys(),
    ].map(String),
  );
  const unknown = intents.filter(
    (intent) => intent.key !== undefined && !success(intent) && !intent.attempts.every(isAnswer),
  );
  const references = new Set(unknown.map(({ input }) => input?.reference));
  const invented = [...eventsByRecord(events)]
    .filter(([record]) => !known.has(record))
    .flatMap(([record, own]) => {
      const [first] = own;
      // Other clients may have found the record in a list, and changed it.
      const isPossible =
        first?.type === 'encounter.created'
          ? references.has(first.data.reference)
          : own.length === 1 && unknown.some(({ operation }) => CREATIONS[first?.type ?? ''] === operation);
      return isPossible
        ? []
        : [`the feed has ${own.map(({ type }) => type).join()} of ${record}, which was not requested`];
    });
  return [...twice, ...pages, ...invented];
}
const CREATIONS: Json = { 'patient.created': 'createPatient', 'document.created': 'uploadPatientDocument' };

/** every event arrives, as it is in the feed. */
function webhooks({ feed: events, told, received }: Case): string[] {
  const byId = new Map(told.map((event) => [event.id, event]));
  const arrived = new Set(received.map(({ id }) => id));
  const missing = recordEvents(events).filter(({ id }) => !arrived.has(id));
  const wrong = received.filter(({ id, body }) => {
    const { id: _id, ...event } = byId.get(id) ?? { id };
    return !isDeepStrictEqual(body, event);
  });
  return [
    ...missing.map(({ id, type }) => `the webhook of ${type} (${id}) did not arrive`),
    ...wrong.map(({ id }) => `the webhook ${id} is not in the feed, or differs`),
  ];
}

/** a row for each answered request, and only for requests of the tenant. */
function auditRows({ intents, rows, requestIds }: Case): string[] {
  const byRequest = new Map<string, Json[]>();
  for (const row of rows) byRequest.set(row.requestId, [...(byRequest.get(row.requestId) ?? []), row]);
  const sent = attemptsOf(intents);
  const strange = rows.filter(
    ({ requestId, operationId }) => !requestIds.has(requestId) && operationId !== 'issueToken',
  );
  const missing = sent.filter(({ intent, attempt }) => {
    const own = (byRequest.get(attempt.requestId) ?? []).filter(({ operationId }) => operationId === intent.operation);
    const isRight = own.length === 1 && own[0].status === attempt.status && own[0].clientId === intent.client.clientId;
    return attempt.status !== null && attempt.status < 500 && !isRight;
  });
  return [
    ...missing.map(({ intent, attempt }) => `${name(intent, attempt)}: not one audit row with its status`),
    ...strange.map(({ operationId, requestId }) => `an audit row of ${operationId} (${requestId}) that no client sent`),
  ];
}

/** an e-mail belongs to one patient of the tenant, and is refused only if it is taken. */
function emails({ intents }: Case): string[] {
  const created = intents.filter(({ operation }) => operation === 'createPatient');
  const taken = created.filter((intent) => success(intent)).map(({ input }) => input.email);
  const free = attemptsOf(created).filter(({ intent, attempt }) => {
    const others = created.filter((other) => other !== intent && other.input.email === intent.input.email);
    return (
      attempt.body?.code === 'patient_email_taken' &&
      !others.some((other) => success(other) || !other.attempts.every(isAnswer))
    );
  });
  return [
    ...repeated(taken).map((email) => `two patients have the e-mail ${email}`),
    ...free.map(({ intent, attempt }) => `${name(intent, attempt)}: its e-mail was not taken`),
  ];
}

/** each number of an encounter or an order belongs to one record. */
function numbers(cases: readonly Case[]): string[] {
  const created = cases.flatMap(({ intents }) =>
    intents.filter(({ operation, isReuse }) => operation === 'createEncounter' && !isReuse),
  );
  const encounters = created.flatMap((intent) => success(intent)?.body.encounter_id ?? []);
  const orderNos = cases.flatMap(({ intents }) => [...ordersOf(intents).keys()]);
  return repeated([...encounters, ...orderNos]).map((number) => `the number ${number} was given twice`);
}

/** no response names a record of another tenant. */
function isolation(cases: readonly Case[]): string[] {
  const owners = new Map<string, string>();
  const pattern = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|ORD-\d+|GFE-\d+/g;
  for (const { tenant, intents } of cases) {
    const created = intents.filter(
      ({ operation, isForeign }) => /^(create|upload|recordPayment|submitReview)/.test(operation) && !isForeign,
    );
    const own = [tenant.clinics, tenant.treatments, created.map((intent) => success(intent)?.body)];
    for (const [id] of JSON.stringify(own).matchAll(pattern)) owners.set(id, tenant.id);
  }
  return cases.flatMap(({ tenant, intents, feed: events }) => {
    const seen = attemptsOf(intents).flatMap(({ intent, attempt }) => {
      const strange =
        attempt.body &&
        Array.from(JSON.stringify(attempt.body).matchAll(pattern), ([id]) => id).find(
          (id) => (owners.get(id) ?? tenant.id) !== tenant.id,
        );
      return strange && !intent.isForeign ? [`${name(intent, attempt)} shows ${strange} of another tenant`] : [];
    });
    const told = events.filter((event) =>
      Array.from(JSON.stringify(event).matchAll(pattern), ([id]) => id).some(
        (id) => (owners.get(id) ?? tenant.id) !== tenant.id,
      ),
    );
    return [...seen, ...told.map(({ id }) => `the event ${id} of ${tenant.id} is about another tenant`)];
  });
}
