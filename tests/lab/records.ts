import type { Tenant } from './tenants.js';
import { createdEncounter, encounterModel } from './encounterModel.js';
import { isAnswer, isRead, success, type Intent, type Json } from './history.js';
import { linearize, type Model, type Op } from './linearize.js';
import { orderModel, type OrderState } from './orderModel.js';
import { documentModel, newPatientState, patientModel } from './recordModels.js';

/** An event of the feed. */
export interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Json;
}

/** The intents and the feed of one tenant. */
export interface Evidence {
  readonly tenant: Tenant;
  readonly intents: readonly Intent[];
  readonly feed: readonly FeedEvent[];
}

/** Without a key, each attempt may take effect; with one, only one of them does. */
function opsOf(intent: Intent, kind = intent.operation): Op[] {
  const { attempts, key } = intent;
  const done = success(intent);
  const op = { kind, intent };
  const refused = attempts.flatMap((attempt): Op[] => {
    const isRefused = isAnswer(attempt) && (attempt.status ?? 0) >= 400 && attempt.status !== 403;
    const { sent: from, got: to, body } = attempt;
    return isRefused ? [{ ...op, outcome: 'refused', from, to, code: body.code }] : [];
  });
  const shown = ({ body, etag }: { body: Json; etag: string | null }) => ({ body, etag });
  if (isRead(intent) || key === undefined) {
    const each = attempts.flatMap((attempt): Op[] => {
      const { sent: from, got: to, status } = attempt;
      if (status !== null && status < 300)
        return [{ ...op, outcome: isRead(intent) ? 'seen' : 'done', from, to, ...shown(attempt) }];
      return isRead(intent) || isAnswer(attempt) ? [] : [{ ...op, outcome: 'unknown', from, to: Infinity }];
    });
    return [...each, ...refused];
  }
  const from = attempts[0]?.sent ?? 0;
  if (done) return [...refused, { ...op, outcome: 'done', from, to: done.got, ...shown(done) }];
  return attempts.every(isAnswer) ? refused : [...refused, { ...op, outcome: 'unknown', from, to: Infinity }];
}

/** An event by its record, with the data that the rules determine. */
function described({ type, data }: FeedEvent): [record: string, event: string] {
  const [subject = ''] = type.split('.');
  const { status, order_status, balance_amt, fulfilment_status, treatmentIds, reason, changed, approved, denied } =
    data;
  const { categoryId, subcategoryId, isVerified, encounter_id, order_no, user_id, documentId } = data;
  const facts =
    type === 'encounter.created' || subject === 'document' || type === 'patient.created'
      ? []
      : [
          ...[
            status,
            order_status,
            balance_amt,
            fulfilment_status,
            reason,
            approved,
            denied,
            categoryId,
            subcategoryId,
            isVerified,
          ],
          ...[treatmentIds?.join(), changed?.join()],
        ];
  const record = { order: order_no, patient: user_id, document: documentId }[subject] ?? encounter_id;
  return [String(record), [type, ...facts.filter((fact) => fact !== undefined)].join(' ')];
}

/** The events without those about endpoints of webhooks, such as a ping, which other endpoints do not get. */
export function recordEvents(feed: readonly FeedEvent[]): FeedEvent[] {
  return feed.filter(({ type }) => !type.startsWith('webhook.'));
}

/** The events of each record, in the order of the feed. */
export function eventsByRecord(feed: readonly FeedEvent[]): Map<string, string[]> {
  const events = new Map<string, string[]>();
  for (const event of recordEvents(feed)) {
    const [record, text] = described(event);
    events.set(record, [...(events.get(record) ?? []), text]);
  }
  return events;
}

/** Searches an order of operations for every encounter, order, patient and document of a tenant. */
export function auditRecords({ tenant, intents, feed }: Evidence): string[] {
  const events = eventsByRecord(feed);
  const anomalies: string[] = [];
  const search = <S>(
    name: string,
    record: string,
    model: Model<S>,
    initial: S,
    ops: readonly Op[],
    created?: string,
  ): void => {
    const own = events.get(record) ?? [];
    if (created !== undefined && own[0] !== created)
      return void anomalies.push(`${name}: the feed begins with ${own[0]}`);
    const expected = created === undefined ? own : own.slice(1);
    const verdict = linearize(model, initial, ops, expected);
    if (verdict === null) return;
    const isOfFeed = linearize(model, initial, ops, undefined) === null;
    const why = verdict === 'undecided' ? 'the search was too long' : verdict.stuck;
    anomalies.push(
      `${name}: ${isOfFeed ? 'the feed does not fit its operations' : 'its responses fit no order'}: ${why}`,
    );
  };
  const plain = intents.filter(({ isForeign, isReuse }) => !isForeign && !isReuse);
  const byRecord = new Map<unknown, Intent[]>();
  for (const intent of plain) {
    for (const record of [intent.encounter, intent.order, intent.patient, intent.document]) {
      if (record !== undefined) byRecord.set(record, [...(byRecord.get(record) ?? []), intent]);
    }
  }
  const about = (record: unknown): Op[] => (byRecord.get(record) ?? []).flatMap((intent) => opsOf(intent));
  const orders = new Map([...ordersOf(plain)].map((order) => [order[1].encounter_id, order]));
  const rows = rowsOf(plain);
  const itemOfTreatment = new Map(tenant.treatments.map(({ id, item }) => [id, item]));
  const reviews = plain.filter(({ operation }) => operation === 'submitReview');
  const created = plain
    .filter(({ operation }) => operation === 'createEncounter')
    .flatMap((intent) => {
      const body = success(intent)?.body;
      return body ? [{ input: intent.input, body }] : [];
    });
  const placeOf = new Map(created.map(({ body }) => [body.encounter_id, `${body.patientId} ${body.clinicId}`]));
  const effects = (ops: Op[]): Op[] => ops.flatMap(({ body: _body, ...op }) => (op.outcome === 'refused' ? [] : [op]));
  for (const { input, body } of created) {
    const { encounter_id: number, reviewType } = body;
    const facts = { reviewType, itemOfTreatment, isClockMoving: tenant.mode === 'sandbox' };
    const chart = (op: Op): Op => (op.kind === 'getChart' && op.body ? { ...op, body: op.body.encounter } : op);
    const others = reviews.filter(
      ({ encounter }) => encounter !== number && placeOf.get(encounter) === placeOf.get(number),
    );
    const elsewhere = others.flatMap((intent) => effects(opsOf(intent, 'decidedElsewhere')));
    const ops = [...about(number).map(chart), ...(rows.get(number) ?? []), ...elsewhere];
    search(
      `encounter ${number}`,
      String(number),
      encounterModel(facts),
      createdEncounter(input, facts),
      ops,
      'encounter.created',
    );

    const order = orders.get(number);
    if (!order) continue;
    const [orderNo, { lines }] = order;
    const treatments = lines.flatMap(
      ({ treatmentId }: Json) => tenant.treatments.find(({ id }) => id === treatmentId) ?? [],
    );
    const initial: OrderState = {
      ...{ lines: {}, payments: {}, cancelReason: null, shipTo: input.shipTo?.name ?? null },
    };
    const causes = (byRecord.get(number) ?? []).filter(({ operation }) =>
      /submitReview|revokeApprovals/.test(operation),
    );
    const ends = causes.flatMap((intent) => effects(opsOf(intent)));
    const orderOps = [...about(orderNo), ...(rows.get(orderNo) ?? []), ...ends, ...elsewhere];
    search(orderNo, orderNo, orderModel(treatments), initial, orderOps);
  }
  for (const intent of plain) {
    const id = success(intent)?.body?.user_id;
    if (intent.operation === 'createPatient' && id) {
      const ops = about(id).filter(({ kind }) => /etPatient|updatePatient|simulateVerification/.test(kind));
      search(`patient ${id}`, id, patientModel, newPatientState, ops, 'patient.created');
    }
    const document = intent.operation === 'uploadPatientDocument' && success(intent)?.body.documentId;
    if (document)
      search(`document ${document}`, document, documentModel, { reason: null }, about(document), 'document.created');
  }
  return anomalies;
}

/** The reads of records in lists, by number. */
function rowsOf(intents: readonly Intent[]): Map<unknown, Op[]> {
  const rows = new Map<unknown, Op[]>();
  for (const intent of intents.filter(({ operation }) => /^list(Encounters|ReviewQueue|Orders)$/.test(operation))) {
    for (const op of opsOf(intent)) {
      for (const body of op.body?.data ?? []) {
        const record = body.lines ? body.order_no : body.encounter_id;
        rows.set(record, [...(rows.get(record) ?? []), { ...op, body, etag: null }]);
      }
    }
  }
  return rows;
}

/** Every order that a response showed, by number. */
export function ordersOf(intents: readonly Intent[]): Map<string, Json> {
  const bodies = intents.flatMap(({ attempts }) => attempts.flatMap(({ body }) => [body, ...(body?.data ?? [])]));
  return new Map(bodies.flatMap((body) => (body?.lines && body.payments ? [[body.order_no, body] as const] : [])));
}
