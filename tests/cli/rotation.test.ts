import { hashClientSecret } from '../../src/domain/access/apiClientSecrets.js';
import { refusal, openOperator } from './operator.js';

const { harness, run, json, createClient, accepts } = await openOperator();
await json('tenant', 'create', 'Lakeside Health');

describe('rotation of a secret', () => {
  it('keeps the old secret valid, refuses a third secret, and retires the old one only after the new one was used', async () => {
    const { clientId, clientSecret: old } = await createClient('--preset', 'billing');
    const rotated = await json('client', 'rotate-secret', clientId);
    expect(rotated).toEqual({
      clientId,
      clientSecret: expect.stringMatching(/^cess_live_/),
      old: { hint: old.slice(-4), expiresAt: null },
    });
    const { clientSecret: fresh } = rotated;
    expect([await accepts(clientId, old), await accepts(clientId, fresh)]).toEqual([true, true]);

    const third = await run('client', 'rotate-secret', clientId);
    expect(third).toEqual(refusal(1, new RegExp(`client retire-secret ${clientId}`)));
    expect(await run('client', 'retire-secret', clientId)).toEqual(refusal(1, /has never been used/));
    expect(await accepts(clientId, old)).toBe(true);

    await harness.domain.db.prisma.apiClientSecret.updateMany({
      where: { tenantId: 'lakeside-health', secretHash: hashClientSecret(fresh) },
      data: { lastUsedAt: new Date() },
    });
    expect(await json('client', 'retire-secret', clientId)).toMatchObject({ clientId, hint: old.slice(-4) });
    expect([await accepts(clientId, old), await accepts(clientId, fresh)]).toEqual([false, true]);

    const last = await run('client', 'retire-secret', clientId, '--force');
    expect(last).toEqual(refusal(1, /is the only active secret/));
    expect(await accepts(clientId, fresh)).toBe(true);
  });
});
