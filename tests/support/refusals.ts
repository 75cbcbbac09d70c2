import { openDatabase } from '../../src/adapters/database/database.js';
import type { Permission, ProblemCode } from '../../src/contract.js';
import { deactivateApiClient } from '../../src/domain/access/apiClients.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { databaseCheck } from '../../src/runtime/readiness.js';
import { newClient, newToken, type Partner } from './factories.js';
import type { Harness } from './harness.js';
import type { Answer } from './http.js';
import { withSql } from './sqlFaults.js';

/** The place of a fault in a request and the rule that it breaks. */
export interface ExpectedFault {
  readonly pointer?: string;
  readonly parameter?: string;
  readonly code?: string;
  readonly detail?: string;
}

/** Asserts a refusal in the documented shape; with `faults`, exactly these. */
export function expectProblem(answer: Answer, status: number, code: ProblemCode, faults?: readonly ExpectedFault[]) {
  const requestId = answer.headers.get('X-Request-Id');
  expect(answer.body).toMatchObject({
    type: `urn:clinical-encounter:problem:${code}`,
    status,
    code,
    doc_url: `/docs#/section/errors/${code}`,
    instance: `urn:uuid:${requestId}`,
    request_id: requestId,
    title: expect.any(String),
    detail: expect.any(String),
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('Content-Type')).toMatch(/^application\/problem\+json\b/);
  expect(answer.headers.get('Cache-Control')).toBe('no-store');
  if (faults) expect(answer.body.errors).toEqual(faults.map((fault) => expect.objectContaining(fault)));
}

type TokenMaker = (harness: Harness, partner: Partner) => Promise<string | undefined>;

/** Refused tokens: name, a function that makes the token, code of the refusal. */
export const unauthenticated: [string, TokenMaker, ProblemCode][] = [
  ['no token', async () => undefined, 'token_missing'],
  ['garbage', async () => 'garbage', 'token_invalid'],
  ['an expired token', expiredToken, 'token_expired'],
  ['a token of a deactivated client', deactivatedToken, 'client_inactive'],
];

/** A token of the partner's tenant that lacks only this permission. */
export async function tokenWithout(harness: Harness, partner: Partner, lacking: Permission): Promise<string> {
  const held = permissions.filter((permission) => permission !== lacking);
  return (await newClient(harness, partner.tenantId, held)).token;
}

/** Does the work while the service cannot connect to its database. */
export async function withoutDatabase<T>({ services }: Harness, work: () => Promise<T>): Promise<T> {
  const { db, hasDatabase } = services;
  const nowhere = 'postgresql://nobody@127.0.0.1:1/nowhere';
  Object.assign(services, { db: openDatabase(nowhere), hasDatabase: databaseCheck(nowhere) });
  return work().finally(() => Object.assign(services, { db, hasDatabase }));
}

/** Does the work while the database lacks a table, which causes an internal error. */
export function withoutTable<T>(harness: Harness, table: string, work: () => Promise<T>): Promise<T> {
  const rename = (from: string, to: string): string => `ALTER TABLE "${from}" RENAME TO "${to}"`;
  return withSql(harness, rename(table, `${table}_elsewhere`), rename(`${table}_elsewhere`, table), work);
}

/** Most operations read one of these tables, and fail with an internal error without it. */
export const neededTables = [
  ...['client', 'ref_state', 'clinic', 'product_offer', 'encounter', 'order', 'event', 'audit_seal'],
  ...['webhook_endpoint', 'webhook_inbox', 'webhook_inbox_message', 'sandbox_exchange'],
];

/** {@link withoutTable} for several tables. */
export function withoutTables<T>(harness: Harness, tables: readonly string[], work: () => Promise<T>): Promise<T> {
  const [table, ...others] = tables;
  return table === undefined ? work() : withoutTable(harness, table, () => withoutTables(harness, others, work));
}

async function expiredToken(harness: Harness, partner: Partner): Promise<string> {
  harness.clock.advance(-8 * 3600);
  const token = await newToken(harness, partner);
  harness.clock.advance(8 * 3600);
  return token;
}

async function deactivatedToken(harness: Harness, { tenantId }: Partner): Promise<string> {
  const { token, clientId } = await newClient(harness, tenantId);
  await deactivateApiClient(harness.domain, clientId);
  return token;
}
