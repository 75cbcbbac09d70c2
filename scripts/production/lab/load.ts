import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../../src/adapters/database/database.js';
import { addCheckpoints } from '../../../src/domain/audit/checkpoints.js';
import { verifyAudit } from '../../../src/domain/audit/verify.js';
import { systemContext } from '../../../src/runtime/systemContext.js';
import { newClinic, newPartner, newProduct, patientBody } from '../../../tests/support/factories.js';
import type { Harness } from '../../../tests/support/harness.js';
import { call } from '../../../tests/support/http.js';
import { newEndpoint } from '../../../tests/support/webhooks.js';
import type { Lab } from './parts.js';

/** A request as its caller sees it; each retry counts as another request. */
interface Request {
  /** {@link NO_RESPONSE} if the connection ended without a response. */
  readonly status: number;
  readonly endedAt: number;
  readonly took: number;
}

/** A line of the report. */
export interface Line {
  readonly requests: number;
  readonly ok: number;
  readonly unavailable: number;
  /** Numbers of other responses than `ok` and `unavailable`, by status. */
  readonly others: Readonly<Record<string, number>>;
  /** The duration of the slowest request, in milliseconds. */
  readonly slowest: number;
  /** The longest time without a success, in milliseconds. */
  readonly gap: number;
  readonly acknowledged: number;
  /** Number of acknowledged records that are not stored. */
  readonly lost: number;
  /** Number of encounters that a retry stored a second time. */
  readonly twice: number;
}

/** The members of responses that this load reads. */
interface Body {
  readonly code?: string;
  readonly user_id: string;
  readonly encounter_id: number;
  readonly documentId: string;
}

const NO_RESPONSE = 0;
/** Milliseconds before a caller repeats a request. */
const RETRY = 500;
/** Whether to repeat a request that has a key: after unavailability, a proxy's error, or while its duplicate runs. */
const isRetryable = (status: number, code: unknown): boolean =>
  status >= 500 || status === NO_RESPONSE || code === 'idempotency_in_progress';

/** The result after all scenarios. */
interface Verdict {
  readonly text: string;
  /** Whether the feed has no gap and the audit is intact. */
  readonly isSound: boolean;
}

/** The lab's tenant. After the scenarios, its stored data is compared with the responses to its requests. */
export interface Tenant {
  /** Sends requests at a constant rate during the work, and then waits until each is acknowledged. */
  during(work: () => Promise<unknown>): Promise<Line>;
  /** Checks feed, webhooks and audit after all scenarios. */
  verdict(): Promise<Verdict>;
}

/**
 * Creates the tenant. Half of its requests read; others create patient, encounter and, every tenth time, a document.
 */
export async function openTenant({ baseUrl, db, fileUrl, receiver }: Lab, perSecond: number): Promise<Tenant> {
  // The cast is safe, because the factories use only these members of a harness.
  const harness = { baseUrl, domain: systemContext(db) } as unknown as Harness;
  const partner = await newPartner(harness);
  const [clinicId, treatmentId] = await Promise.all([newClinic(harness, partner), newProduct(harness, partner)]);
  await newEndpoint(harness, partner, { url: receiver.url('/all') });
  const { token, tenantId } = partner;

  const during = async (work: () => Promise<unknown>): Promise<Line> => {
    const seen: Request[] = [];
    const acknowledged = { client: [] as string[], encounter: [] as string[], document: [] as string[] };
    const send = async (target: string, json?: object, key?: string) => {
      const sentAt = Date.now();
      const headers = key === undefined ? {} : { 'Idempotency-Key': key };
      const request = { token, headers, ...(json && { json }) };
      const answer = await call({ baseUrl }, target, request).catch(() => undefined);
      const status = answer?.status ?? NO_RESPONSE;
      seen.push({ status, endedAt: Date.now(), took: Date.now() - sentAt });
      return { status, body: answer?.body as Body | undefined };
    };
    const keyed = async (target: string, json: object) => {
      for (const key = randomUUID(); ; await delay(RETRY)) {
        const { status, body } = await send(target, json, key);
        if (!isRetryable(status, body?.code)) return status < 300 ? body : undefined;
      }
    };
    const live = async (number: number): Promise<void> => {
      const patient = await keyed('POST /clients', patientBody());
      if (!patient) return;
      acknowledged.client.push(patient.user_id);
      const of = { clinicId, treatmentIds: [treatmentId], patientId: patient.user_id };
      const encounter = await keyed('POST /encounters', {
        ...{ ...of, reviewType: 'asynchronous', serviceQueue: 'provider_network' },
      });
      if (encounter) acknowledged.encounter.push(String(encounter.encounter_id));
      if (number % 10 !== 0) return;
      const document = await keyed(`POST /clients-documents/${patient.user_id}/upload-url/lab-results`, {
        url: fileUrl,
      });
      if (document) acknowledged.document.push(document.documentId);
    };
    const underWay = new Set<Promise<unknown>>();
    let count = 0;
    const timer = setInterval(() => {
      count += 1;
      const each: Promise<unknown> = (count % 3 === 0 ? live(count / 3) : send('GET /encounters?limit=20')).finally(
        () => underWay.delete(each),
      );
      underWay.add(each);
    }, 1_000 / perSecond);
    const begun = Date.now();
    await work().finally(() => clearInterval(timer));
    const ended = Date.now();
    await Promise.all(underWay);
    return { ...figuresOf(seen, begun, ended), ...(await audit(db, acknowledged)) };
  };
  return { during, verdict: () => verdictOf(db, tenantId, receiver) };
}

function figuresOf(seen: readonly Request[], begun: number, ended: number) {
  const others: Record<string, number> = {};
  const isOk = (status: number): boolean => status >= 200 && status < 300;
  for (const { status } of seen) {
    if (isOk(status) || status === 503) continue;
    const name = status === NO_RESPONSE ? 'no response' : status;
    others[name] = (others[name] ?? 0) + 1;
  }
  const successes = seen.filter(({ status }) => isOk(status)).map(({ endedAt }) => endedAt);
  const gaps = [...successes, ended].map((time, index) => time - (successes[index - 1] ?? begun));
  return {
    requests: seen.length,
    ok: successes.length,
    unavailable: seen.filter(({ status }) => status === 503).length,
    others,
    slowest: Math.max(...seen.map(({ took }) => took)),
    gap: Math.max(...gaps),
  };
}

async function audit({ everyTenant }: Database, acknowledged: Readonly<Record<string, readonly string[]>>) {
  const { client = [], encounter = [], document = [] } = acknowledged;
  const [row] = await everyTenant.rows<{ stored: number; twice: number }>`
    SELECT ((SELECT count(*) FROM client WHERE id = ANY (${client}::uuid[]))
        + (SELECT count(*) FROM encounter WHERE encounter_no = ANY (${encounter}::bigint[]))
        + (SELECT count(*) FROM document WHERE id = ANY (${document}::uuid[])))::int AS stored,
      (SELECT count(*) - count(DISTINCT patient_id) FROM encounter WHERE patient_id = ANY (${client}::uuid[]))::int AS twice`;
  const all = client.length + encounter.length + document.length;
  return { acknowledged: all, lost: all - (row?.stored ?? 0), twice: row?.twice ?? 0 };
}

/** Seconds to wait for the last webhooks, because a retry may come only after a minute. */
const WEBHOOK_SECONDS = 120;

async function verdictOf(db: Database, tenantId: string, { received }: Lab['receiver']): Promise<Verdict> {
  const [feed] = await db.of(tenantId).rows<{ events: number; gaps: number }>`
    SELECT count(*)::int AS events, (max(position) - min(position) + 1 - count(*))::int AS gaps FROM event
    WHERE tenant_id = ${tenantId}`;
  const { events = 0, gaps = 0 } = feed ?? {};
  const delivered = (): number => new Set(received.map(({ headers }) => headers['webhook-id'])).size;
  for (let second = 0; delivered() < events && second < WEBHOOK_SECONDS; second += 1) await delay(1_000);
  const [due] = await db.of(tenantId).rows<{ waiting: number; seconds: number | null }>`
    SELECT count(*)::int AS waiting, extract(epoch FROM min(next_attempt_at) - now())::int AS seconds FROM webhook_delivery
    WHERE tenant_id = ${tenantId} AND status = 'waiting'`;
  const { waiting = 0, seconds = null } = due ?? {};
  const context = systemContext(db);
  await addCheckpoints(context);
  const { rows, fault } = await verifyAudit(context);
  const text = [
    `feed: ${events} events, ${gaps} gaps`,
    `webhooks: ${delivered()} of ${events} delivered; ${waiting} wait, the next one for ${seconds ?? 0} s`,
    `audit: ${rows} rows, ${fault ?? 'intact'}`,
  ].join('\n');
  return { text, isSound: gaps === 0 && fault === null };
}
