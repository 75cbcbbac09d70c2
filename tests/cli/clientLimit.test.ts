import { newClinic, newPartner } from '../support/factories.js';
import { refusal, openOperator } from './operator.js';

const { harness, run, json } = await openOperator();

it('client update sets and removes the request limit of one client, and refuses invalid limits and unknown clients', async () => {
  const { tenantId, clientId } = await newPartner(harness);
  const { clientId: other } = await newPartner(harness);
  const limits = async (): Promise<unknown[]> => {
    const { apiClient } = harness.domain.db.prisma;
    const clients = [clientId, other].map((id) => apiClient.findFirstOrThrow({ where: { clientId: id } }));
    return (await Promise.all(clients)).map((client) => client.requestsPerMinute);
  };
  const update = (id: string, limit: string): string[] => ['client', 'update', id, '--requests-per-minute', limit];
  expect(await json(...update(clientId, '6000'))).toMatchObject({ clientId, requestsPerMinute: 6_000 });
  expect(await limits()).toEqual([6_000, null]);

  for (const wrong of ['0', '-1', '1.5', '1000001', 'none', '']) {
    const refused = await run(...update(clientId, wrong));
    expect([wrong, refused]).toEqual([wrong, refusal(2, /a whole number from 1 to 1000000/)]);
  }
  expect((await run('client', 'update', clientId)).code).toBe(2);
  const unknown = 'ces_k5xw4zdpnrqw2y3imfzg';
  expect(await run(...update(unknown, '10'))).toEqual(refusal(1, new RegExp(unknown)));
  expect(await limits()).toEqual([6_000, null]);

  const { stdout } = await run(...update(clientId, 'default'));
  expect(stdout).toBe(`${clientId} was changed. Running servers apply this within 30 seconds.\n`);
  expect(await limits()).toEqual([null, null]);
  const rows = await harness.domain.db.prisma.$queryRaw<{ outcome: string }[]>`
    SELECT outcome FROM audit_event WHERE operation_id = 'client update' AND tenant_id = ${tenantId} ORDER BY position`;
  expect(rows.map(({ outcome }) => outcome)).toEqual(['success', 'success']);
});

it('client update restricts a client to pharmacies, and lifts the restriction', async () => {
  const { clientId } = await newPartner(harness);
  const pharmacies = ['01a10caf-a4c0-7000-8000-0000000000a1', '01a10caf-a4c0-7000-8000-0000000000a2'];
  const update = (...ids: string[]): string[] => ['client', 'update', clientId, '--pharmacy', ...ids];
  const limits = async (): Promise<unknown> =>
    (await harness.domain.db.prisma.apiClient.findFirstOrThrow({ where: { clientId } })).allowedPharmacyIds;
  expect(await json(...update(...pharmacies))).toMatchObject({
    clientId,
    allowedPharmacyIds: pharmacies,
  });
  expect(await limits()).toEqual(pharmacies);
  expect(await run(...update('the one downtown'))).toEqual(refusal(2, /./));
  expect(await limits()).toEqual(pharmacies);
  await run(...update('all'));
  expect(await limits()).toEqual([]);
});

it('client update replaces permissions and clinics, and refuses unknown ones', async () => {
  const partner = await newPartner(harness);
  const clinic = await newClinic(harness, partner);
  const update = (...args: string[]): string[] => ['client', 'update', partner.clientId, ...args];
  const changed = await json(...update('--permissions', 'read:order,read:client', '--clinic', clinic));
  expect(changed).toMatchObject({ permissions: ['read:client', 'read:order'], allowedClinicIds: [clinic] });
  expect(await run(...update('--permissions', 'read:all'))).toEqual(refusal(2, /Unknown permission: read:all/));
  const foreign = await newClinic(harness, await newPartner(harness));
  expect(await run(...update('--clinic', foreign))).toEqual(refusal(1, /has no clinic/));
  expect(await json('client', 'list', '--tenant', partner.tenantId)).toEqual([changed]);
  expect(await json(...update('--clinic', 'all'))).toEqual({ ...changed, allowedClinicIds: null });
});
