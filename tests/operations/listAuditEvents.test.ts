import { deactivateApiClient } from '../../src/domain/access/apiClients.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { newClient, newClinic, newEncounter, newPartner, newPatient, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { loginBody } from '../support/tokens.js';

const harness = await openHarness({ environment: { TRUSTED_PROXIES: '2' } });
const partner = await newPartner(harness);
const janeId = await newPatient(harness, partner);
const list = (query = '', { token }: Pick<Partner, 'token'> = partner): Promise<Answer> =>
  call(harness, `GET /audit-events${query}`, { token });

/** The list after a checkpoint, which makes earlier events visible. */
async function sealed(query: string, caller?: Pick<Partner, 'token'>): Promise<Answer['body']> {
  await addCheckpoints(harness.domain);
  return (await list(query, caller)).body;
}

const operationsOf = ({ data }: Answer['body']): string[] =>
  data.map((row: { operationId: string; status: number }) => `${row.operationId} ${row.status}`);

describe('listAuditEvents 200', () => {
  it('lists a read of a patient with the client, its address and the outcome', async () => {
    const headers = { 'X-Forwarded-For': '10.0.0.9, 203.0.113.7, 198.51.100.2' };
    const read = await call(harness, `GET /clients/${janeId}`, { token: partner.token, headers });
    const { data, has_more } = await sealed(`?patientId=${janeId}&operationId=getPatient`);
    const requestId = read.headers.get('X-Request-Id');
    const origin = { at: harness.clock.now.toISOString(), clientId: partner.clientId, requestId, ip: '203.0.113.7' };
    const about = { resourceType: 'patient', resourceId: janeId, patientIds: [janeId], reviewerRef: null };
    const outcome = { operationId: 'getPatient', status: 200, code: null, outcome: 'success' };
    expect(data).toEqual([{ ...origin, ...about, ...outcome }]);
    expect(has_more).toBe(false);
  });

  it('shows the refused token request of a deactivated client', async () => {
    const client = await newClient(harness, partner.tenantId);
    await deactivateApiClient(harness.domain, client.clientId);
    expect((await call(harness, 'POST /oauth/token', { json: loginBody(client) })).status).toBe(401);
    const { data } = await sealed(`?clientId=${client.clientId}&operationId=issueToken`);
    expect(data.at(-1)).toMatchObject({ status: 401, code: 'invalid_client', outcome: 'refused' });
  });

  it('finds requests about an encounter by patientId, whether they send encounter_id or gfe_no', async () => {
    const encounter = await newEncounter(harness, partner, { patientId: janeId });
    const ask = (target: string, json?: object) => call(harness, target, { token: partner.token, json });
    await ask(`GET /encounters/${encounter.encounter_id}`);
    await ask('POST /encounters/status', { gfe_no: encounter.gfe_no });
    const expected = ['createPatient 201', 'createEncounter 201', 'getEncounter 200', 'getEncounterStatus 200'];
    expect(operationsOf(await sealed(`?patientId=${janeId}`))).toEqual(expect.arrayContaining(expected));
  });

  it('continues after the cursor, and omits events after the last checkpoint', async () => {
    const mine = await newPartner(harness);
    for (let n = 0; n < 3; n += 1) await list('', mine);
    expect((await list('', mine)).body.data).toEqual([]);
    const first = await sealed(`?clientId=${mine.clientId}&operationId=listAuditEvents&limit=2`, mine);
    const two = ['listAuditEvents 200', 'listAuditEvents 200'];
    expect([operationsOf(first), first.has_more]).toEqual([two, true]);
    const { body: rest } = await list(`?limit=100&cursor=${first.next_cursor}`, mine);
    expect([operationsOf(rest), rest.has_more]).toEqual([two, false]);
    expect(await sealed(`?operationId=nothing`, mine)).toMatchObject({ data: [], has_more: false });
  });

  it('shows a client limited to clinics only its own requests', async () => {
    const here = await newClinic(harness, partner);
    const limited = await newClient(harness, partner.tenantId, permissions, [here]);
    const seen = await newPatient(harness, partner);
    await newEncounter(harness, partner, { patientId: seen, clinicId: here });
    await call(harness, `GET /clients/${seen}`, limited);
    await call(harness, `GET /clients/${janeId}`, limited);
    expect(operationsOf(await sealed('?limit=100', limited))).toEqual([
      'issueToken 200',
      'getPatient 200',
      'getPatient 404',
    ]);
    expect(operationsOf(await sealed(`?patientId=${seen}`, limited))).toEqual(['getPatient 200']);
    expect(operationsOf(await sealed(`?clientId=${partner.clientId}`, limited))).toEqual([]);
  });

  it('shows no event of another tenant', async () => {
    const other = await newPartner(harness);
    const { data } = await sealed('?limit=100', other);
    expect(new Set(data.map(({ clientId }: { clientId: string }) => clientId))).toEqual(new Set([other.clientId]));
  });
});
