import { randomUUID } from 'node:crypto';
import { changeApiClient } from '../../src/domain/access/apiClients.js';
import { auditRecorder } from '../../src/domain/audit/recorder.js';
import { auditRow } from '../domain/audit/auditRow.js';
import { permissions } from '../../src/domain/access/permissions.js';
import {
  newClient,
  newClinic,
  newPartner,
  newPatient,
  newToken,
  patientBody,
  type Partner,
} from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { newSandbox, reset, setClock } from '../support/sandbox.js';
import { loginBody } from '../support/tokens.js';

const harness = await openHarness();

const DAY = 86_400;

const list = ({ token }: Pick<Partner, 'token'>, query = ''): Promise<Answer> =>
  call(harness, `GET /sandbox/requests${query}`, { token });

const asked = ({ body }: Answer): string[] =>
  body.data.map((row: { operationId: string; status: number }) => `${row.operationId} ${row.status}`);

describe('listRequests 200', () => {
  it('lists requests with their outcome, the newest first, without their values', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const patientId = await newPatient(harness, partner, { email: 'found@example.com' });
    const read = await call(harness, `GET /clients/${patientId}`, partner);
    const refused = [
      await call(harness, 'GET /clients?email=found%40example.com&serch=secret', partner),
      await call(harness, 'POST /clients', { ...partner, json: patientBody({ email: 'found@example.com' }) }),
      await call(harness, 'POST /oauth/token', { json: loginBody({ ...partner, clientSecret: 'wrong' }) }),
    ];
    const answer = await list(partner);
    const idOf = ({ headers }: Answer) => headers.get('X-Request-Id');
    const [invalid, taken, login] = refused.map(idOf);
    const common = { at: harness.clock.now.toISOString(), clientId: partner.clientId };
    const token = { ...common, method: 'POST', path: '/oauth/token', operationId: 'issueToken' };
    const create = { ...common, method: 'POST', path: '/clients', operationId: 'createPatient' };
    const byEmail = { ...common, method: 'GET', path: '/clients', operationId: 'findPatients' };
    const get = { ...common, method: 'GET', path: '/clients/{id}', operationId: 'getPatient' };
    expect(answer.body).toEqual({
      data: [
        { ...token, status: 401, code: 'invalid_client', requestId: login },
        { ...create, status: 409, code: 'patient_email_taken', requestId: taken },
        { ...byEmail, status: 400, code: 'validation_failed', requestId: invalid },
        { ...get, status: 200, code: null, requestId: idOf(read) },
        { ...create, status: 201, code: null, requestId: expect.any(String) },
        { ...token, status: 200, code: null, requestId: expect.any(String) },
      ],
      next_cursor: null,
      has_more: false,
    });
    for (const sent of [patientId, 'example.com', 'secret']) expect(answer.text).not.toContain(sent);
  });

  it('pages without repetition while requests are added', async () => {
    const partner = await newPartner(harness, 'sandbox');
    for (const target of ['/clinics', '/clinics?limit=0', '/tenants/products'])
      await call(harness, `GET ${target}`, partner);
    const first = await list(partner, '?limit=2');
    const second = await list(partner, `?limit=2&cursor=${first.body.next_cursor}`);
    expect([asked(first), first.body.has_more]).toEqual([['listProducts 200', 'listClinics 400'], true]);
    expect(second.body).toMatchObject({ next_cursor: null, has_more: false });
    expect(asked(second)).toEqual(['listClinics 200', 'issueToken 200']);
  });

  it('filters by operation, status and code, alone or together', async () => {
    const partner = await newPartner(harness, 'sandbox');
    for (const target of ['/clinics', '/clinics?limit=0', '/tenants/products?limit=0']) {
      await call(harness, `GET ${target}`, partner);
    }
    const filtered = async (query: string): Promise<string[]> => asked(await list(partner, query));
    expect(await filtered('?operationId=listClinics')).toEqual(['listClinics 400', 'listClinics 200']);
    expect(await filtered('?status=400')).toEqual(['listProducts 400', 'listClinics 400']);
    expect(await filtered('?code=validation_failed&operationId=listClinics')).toEqual(['listClinics 400']);
    expect(await filtered('?code=nothing_of_this_name')).toEqual([]);
  });

  it('lists the requests of the last week of real time, across a reset and a moved sandbox clock', async () => {
    const sandbox = await newSandbox(harness);
    await call(harness, 'GET /clinics', sandbox);
    expect((await reset(harness, sandbox)).status).toBe(204);
    expect((await setClock(harness, sandbox, 400 * DAY)).status).toBe(200);
    const all = ['setClock 200', 'resetSandbox 204', 'listClinics 200', 'issueToken 200'];
    expect(asked(await list(sandbox))).toEqual(all);
    harness.clock.advance(7 * DAY);
    const later = { token: await newToken(harness, sandbox) };
    expect(asked(await list(later))).toEqual(['issueToken 200', 'listRequests 200', ...all]);
    harness.clock.advance(1);
    const page = await list(later, '?limit=2');
    expect([asked(page), page.body.has_more]).toEqual([['listRequests 200', 'issueToken 200'], false]);
    expect(asked(await list(later, '?operationId=resetSandbox'))).toEqual([]);
  });

  it('scans 1,000 requests per page for a filter, then returns has_more', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const { tenantId, clientId } = partner;
    const row = auditRow({ at: harness.clock.now, tenantId, clientId, operationId: 'listClinics' });
    const record = auditRecorder(harness.domain);
    await Promise.all(Array.from({ length: 1_000 }, () => record(row)));
    const first = await list(partner, '?operationId=issueToken');
    expect(first.body).toMatchObject({ data: [], has_more: true });
    const second = await list(partner, `?operationId=issueToken&cursor=${first.body.next_cursor}`);
    expect([asked(second), second.body.has_more]).toEqual([['issueToken 200'], false]);
  });

  it('shows a client limited to clinics or pharmacies only its own requests, and shows the operator’s commands to no client', async () => {
    const partner = await newPartner(harness, 'sandbox');
    const clinicId = await newClinic(harness, partner);
    const limited = await newClient(harness, partner.tenantId, permissions, [clinicId]);
    const pharmacy = await newClient(harness, partner.tenantId);
    await changeApiClient(harness.domain, pharmacy.clientId, { pharmacies: [randomUUID()] });
    Object.assign(pharmacy, { token: await newToken(harness, pharmacy) });
    const { tenantId } = partner;
    const command = { tenantId, clientId: null, operator: 'somebody', operationId: 'client list', status: null };
    await auditRecorder(harness.domain)(auditRow({ at: harness.clock.now, ...command }));
    const clientsOf = async (caller: Partner): Promise<Set<string>> =>
      new Set((await list(caller)).body.data.map(({ clientId }: { clientId: string }) => clientId));
    for (const one of [limited, pharmacy]) expect(await clientsOf(one)).toEqual(new Set([one.clientId]));
    expect(await clientsOf(partner)).toEqual(new Set([limited, pharmacy, partner].map(({ clientId }) => clientId)));
  });
});
