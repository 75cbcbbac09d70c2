import { isAnswer, isRead, success, type Intent, type Json } from './history.js';

/** A response that shows a record. */
export interface Sight {
  readonly intent: Intent;
  /** Its version; of an order, the time of its latest change; 0 of a document. */
  readonly version: number;
  /** Ticks of its request and its response. */
  readonly from: number;
  readonly to: number;
  readonly body: Json;
}

/** The responses about one record, in the order of their versions; about an order, as they arrived. */
export interface Known {
  readonly sights: readonly Sight[];
  /** The intents about it that have, or may have, had an effect, and those that were refused. */
  readonly done: readonly Intent[];
  readonly unknown: readonly Intent[];
  readonly refused: readonly Intent[];
}

/** The name of the record that a body shows, with its version. */
function shownBy(body: Json, etag: string | null): [string, number][] {
  if (body?.encounter?.version) return [[String(body.encounter.encounter_id), body.encounter.version]];
  if (body?.gfe_no && body.version) return [[String(body.encounter_id), body.version]];
  if (body?.lines && body.payments) return [[body.order_no, Date.parse(body.updatedAt)]];
  if (body?.user_id && etag) return [[body.user_id, Number.parseInt(etag.slice(1), 10)]];
  if (body?.documentId) return [[body.documentId, 0]];
  return [];
}

/** The responses and intents of clients about each encounter, order, patient and document, by its number or id. */
export function knownRecords(intents: readonly Intent[]): Map<string, Known> {
  const sights = new Map<string, Sight[]>();
  const plain = intents.filter(({ isForeign, isReuse }) => !isForeign && !isReuse);
  for (const intent of plain) {
    const done = success(intent);
    // A replay shows the response of the first attempt, which may have had no response itself.
    const answers = isRead(intent)
      ? intent.attempts.filter(({ status }) => status !== null && status < 300)
      : done
        ? [{ ...done, sent: intent.attempts[0]?.sent ?? 0 }]
        : [];
    for (const { sent: from, got: to, body, etag } of answers) {
      for (const each of body?.data ?? [body]) {
        for (const [record, version] of shownBy(each, each === body ? etag : null)) {
          const shown = { intent, version, from, to, body: each.encounter?.version ? each.encounter : each };
          sights.set(record, [...(sights.get(record) ?? []), shown]);
        }
      }
    }
  }
  const about = new Map<string, Intent[]>();
  for (const intent of plain.filter((each) => !isRead(each))) {
    const { encounter, order, patient, document } = intent;
    for (const record of [encounter, order, patient, document].filter((each) => each !== undefined).map(String)) {
      about.set(record, [...(about.get(record) ?? []), intent]);
    }
  }
  const records = [...sights].map(([record, seen]): [string, Known] => {
    const own = about.get(record) ?? [];
    const unknown = own.filter((intent) => !success(intent) && !intent.attempts.every(isAnswer));
    return [
      record,
      {
        sights: seen.sort((a, b) => (a.body.lines ? 0 : a.version - b.version) || a.to - b.to),
        done: own.filter((intent) => success(intent)),
        unknown,
        refused: own.filter((intent) => !success(intent) && !unknown.includes(intent)),
      },
    ];
  });
  return new Map(records);
}
