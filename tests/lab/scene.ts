import type { Tenant } from './tenants.js';
import type { Intent, Json } from './history.js';
import type { Random } from './random.js';

/** The records of a tenant as responses showed them. Its clients share this, so that they act on the same records. */
export interface Scene {
  readonly tenant: Tenant;
  readonly patients: Map<string, { etag: string | null; isLimited: boolean; isVerified: string }>;
  readonly documents: Map<string, string>;
  readonly encounters: Map<number, Json>;
  readonly orders: Map<string, Json>;
  readonly endpoints: Set<string>;
  /** Seconds that the sandbox is ahead of real time. */
  readonly clock: { offset: number };
}

export function newScene(tenant: Tenant): Scene {
  const maps = { patients: new Map(), documents: new Map(), encounters: new Map(), orders: new Map() };
  return { tenant, ...maps, endpoints: new Set(), clock: { offset: 0 } };
}

/** Remembers what a successful response shows. */
export function learn(scene: Scene, { client, operation, patient }: Intent, body: Json, etag: string | null): void {
  const { patients, documents, encounters, orders, endpoints } = scene;
  if (operation === 'createPatient')
    patients.set(body.user_id, { etag: null, isLimited: client.role === 'limited', isVerified: body.isVerified });
  const known = patient && patients.get(patient);
  if (known && etag) known.etag = etag;
  if (known && body?.isVerified) known.isVerified = body.isVerified;
  if (operation === 'uploadPatientDocument' && patient) documents.set(body.documentId, patient);
  if (operation === 'createWebhookEndpoint') endpoints.add(body.id);
  if (operation === 'deleteWebhookEndpoint') endpoints.clear();
  for (const each of body?.encounter_id && body.gfe_no && body.version ? [body] : (body?.data ?? [])) {
    if (each.version && each.gfe_no && !(encounters.get(each.encounter_id)?.version > each.version)) {
      encounters.set(each.encounter_id, each);
      if (each.order_no && !orders.has(each.order_no)) orders.set(each.order_no, null);
    }
    if (each.lines) orders.set(each.order_no, each);
  }
  if (body?.lines && body.payments) orders.set(body.order_no, body);
}

/** Picks an element, mostly a recent one, so that many clients act on the same records. */
export function recent<T>(random: Random, all: Iterable<T>, count = 8): T | undefined {
  const list = [...all];
  const some = random.chance(0.8) ? list.slice(-count) : list;
  return some.length > 0 ? random.pick(some) : undefined;
}
