import { randomUUID } from 'node:crypto';
import type { DomainContext } from '../../src/context.js';
import { newClinic, newPartner, newProduct, type Partner } from '../../tests/support/factories.js';
import type { Harness } from '../../tests/support/harness.js';
import { call } from '../../tests/support/http.js';

/** A service with a tenant, and the existing records that an encounter refers to. */
export interface Scene {
  readonly partner: Partner;
  /** Sends a request; requests with a body get an `Idempotency-Key`. @throws Error unless the response is a success */
  send(target: string, json?: object): Promise<object>;
  readonly clinicId: string;
  readonly treatmentIds: readonly string[];
}

export async function openScene(baseUrl: string, domain: DomainContext): Promise<Scene> {
  // The cast is safe, because the factories use only these members of a harness.
  const harness = { baseUrl, domain } as unknown as Harness;
  const partner = await newPartner(harness);
  const [clinicId, treatmentId] = await Promise.all([newClinic(harness, partner), newProduct(harness, partner)]);
  const send = async (target: string, json?: object): Promise<object> => {
    const headers = json ? { 'Idempotency-Key': randomUUID() } : undefined;
    const answer = await call({ baseUrl }, target, { token: partner.token, json, ...(headers && { headers }) });
    if (answer.status > 299) throw new Error(`${target}: ${answer.status} ${answer.text}`);
    return answer.body as object;
  };
  return { partner, send, clinicId, treatmentIds: [treatmentId] };
}
