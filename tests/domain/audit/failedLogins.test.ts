import { newPartner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { loginBody } from '../../support/tokens.js';

const harness = await openHarness({ environment: { TRUSTED_PROXIES: '1' } });

it('the audit records each failed login of a client in a row of its own', async () => {
  const { clientId, tenantId } = await newPartner(harness);
  const json = loginBody({ clientId, clientSecret: 'wrong' });
  const addresses = Array.from({ length: 50 }, (_, index) => `192.0.2.${index}`);
  const attempts = addresses.map((address) =>
    call(harness, 'POST /oauth/token', { json, headers: { 'X-Forwarded-For': address } }),
  );
  expect(new Set((await Promise.all(attempts)).map(({ status }) => status))).toEqual(new Set([401]));
  const where = { tenantId, clientId, operationId: 'issueToken', status: 401, code: 'invalid_client' };
  const rows = await harness.domain.db.prisma.auditEvent.findMany({ where });
  expect(rows.map(({ ip }) => ip).sort()).toEqual(addresses.sort());
});
