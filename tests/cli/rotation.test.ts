import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { v7 } from 'uuid';
import { rotateSecret } from '../../src/domain/access/apiClientSecrets.js';
import { hashClientSecret } from '../../src/domain/access/apiClientSecrets.js';
import { refusal, useOperator } from './operator.js';

const { harness, database, run, json, createClient, accepts } = useOperator();
beforeAll(() => json('tenant', 'create', 'Lakeside Health'));

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

  it('ends the old secret at the time of --expire-old, and allows the next rotation after that', async () => {
    const { clientId, clientSecret: old } = await createClient('--preset', 'billing');
    const rotated = await json('client', 'rotate-secret', clientId, '--expire-old', '3600');
    const seconds = (Date.parse(rotated.old.expiresAt) - Date.now()) / 1000;
    expect(seconds).toBeGreaterThan(3500);
    expect(seconds).toBeLessThanOrEqual(3600);
    expect(await accepts(clientId, old)).toBe(true);
    await harness.domain.db.prisma.apiClientSecret.updateMany({
      where: { tenantId: 'lakeside-health', secretHash: hashClientSecret(old) },
      data: { expiresAt: new Date() },
    });
    expect(await run('client', 'rotate-secret', clientId)).toMatchObject({ code: 0 });
  });

  it('leaves no more than two active secrets when six rotations race', async () => {
    const { clientId } = await createClient('--preset', 'billing');
    const { db } = harness.domain;
    const context = { db, now: () => new Date(), newId: () => v7(), randomBytes: (size: number) => randomBytes(size) };
    const blocker = new Client({ connectionString: database.url });
    await blocker.connect();
    await blocker.query(`BEGIN; SELECT 1 FROM api_client WHERE client_id = '${clientId}' FOR UPDATE`);
    const rotations = Promise.allSettled(Array.from({ length: 6 }, () => rotateSecret(context, clientId, null)));
    // All rotations wait for the lock before the first one proceeds.
    const waiting = () => harness.domain.db.prisma.$queryRaw<{ pid: number }[]>`SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await waiting()).length !== 6) await delay(20);
    await blocker.query('COMMIT');
    await blocker.end();
    const results = await rotations;
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(
      await harness.domain.db.prisma.apiClientSecret.count({
        where: { tenantId: 'lakeside-health', apiClient: { clientId } },
      }),
    ).toBe(2);
  });
});
