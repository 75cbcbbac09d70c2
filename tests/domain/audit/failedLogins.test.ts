import { setTimeout as delay } from 'node:timers/promises';
import { openAuditLog } from '../../../src/domain/audit/auditLog.js';
import { addCheckpoints } from '../../../src/domain/audit/checkpoints.js';
import { newClient, newPartner, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { withoutTable } from '../../support/refusals.js';
import { loginBody } from '../../support/tokens.js';
import { auditRow } from './auditRow.js';

const harness = await openHarness({ environment: { TRUSTED_PROXIES: '1' } });
const partner = await newPartner(harness);

/** Failed logins of a client, each from another address. */
async function fail(clientId: string, times: number): Promise<void> {
  const json = loginBody({ clientId, clientSecret: 'wrong' });
  const attempts = Array.from({ length: times }, (_, index) =>
    call(harness, 'POST /oauth/token', { json, headers: { 'X-Forwarded-For': `192.0.2.${index}` } }),
  );
  expect(new Set((await Promise.all(attempts)).map(({ status }) => status))).toEqual(new Set([401]));
}

/** The number of failed logins in each row of a client; rows of a single login, which have none, come first. */
async function countsOf({ clientId, tenantId }: Pick<Partner, 'clientId' | 'tenantId'>): Promise<(number | null)[]> {
  const where = { tenantId, clientId, code: 'invalid_client' };
  const rows = await harness.domain.db.prisma.auditEvent.findMany({ where, orderBy: { position: 'asc' } });
  const counts = rows.map(({ count }) => count);
  return counts.sort((first, second) => Number(first !== null) - Number(second !== null));
}
const ownRows = Array<null>(20).fill(null);

it('the audit records 20 failed logins of a client per minute in rows of their own and the others in one common row, even when the process stops', async () => {
  const client = await newClient(harness, partner.tenantId);
  const other = await newClient(harness, partner.tenantId);
  await fail(client.clientId, 200);
  await fail(other.clientId, 1);
  expect([await countsOf(client), await countsOf(other)]).toEqual([ownRows, [null]]);
  await harness.services.auditLog.close();
  expect([await countsOf(client), await countsOf(other)]).toEqual([[...ownRows, 180], [null]]);
  await addCheckpoints(harness.domain);
  const query = `clientId=${client.clientId}&operationId=issueToken&limit=100`;
  const { body } = await call(harness, `GET /audit-events?${query}`, partner);
  expect(body.data.at(-1)).toMatchObject({ status: 401, code: 'invalid_client', ip: expect.any(String), count: 180 });
  expect(body.data.at(-2)).not.toHaveProperty('count');
});

it('the audit writes the common row of failed logins when the minute ends, and then rows for single logins again', async () => {
  const client = await newClient(harness, partner.tenantId);
  const auditLog = openAuditLog(harness.services, 20);
  const { tenantId, clientId } = client;
  const caller = { tenantId, clientId, resourceId: null, patientIds: [], ip: null };
  const refusal = { operationId: 'issueToken', status: 401, code: 'invalid_client', outcome: 'refused' } as const;
  const row = auditRow({ at: harness.domain.now(), resourceType: 'token', ...caller, ...refusal });
  const failAtOnce = () => Promise.all(Array.from({ length: 25 }, () => auditLog.record(row)));
  const ended = async (counts: (number | null)[]): Promise<void> => {
    while ((await countsOf(client)).length < counts.length) await delay(5);
    expect(await countsOf(client)).toEqual(counts);
  };
  await failAtOnce();
  await ended([...ownRows, 5]);
  await failAtOnce();
  await ended([...ownRows, ...ownRows, 5, 5]);
  await auditLog.close();
});

it('the count of failed logins survives while the audit table is missing', async () => {
  const client = await newClient(harness, partner.tenantId);
  await fail(client.clientId, 22);
  await withoutTable(harness, 'audit_event', () => harness.services.auditLog.close());
  expect(await countsOf(client)).toEqual(ownRows);
  await harness.services.auditLog.close();
  expect(await countsOf(client)).toEqual([...ownRows, 2]);
});
