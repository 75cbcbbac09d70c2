import { refusal, openOperator } from './operator.js';

const { run, json, createClient, accepts } = await openOperator();
await json('tenant', 'create', 'Lakeside Health');

it('client rotate-secret keeps the old secret for seven days, refuses a third secret, and ends both with --expire-old 0', async () => {
  const { clientId, clientSecret: old } = await createClient('--preset', 'billing');
  const { clientSecret: fresh, ...rotated } = await json('client', 'rotate-secret', clientId);
  expect(rotated).toEqual({ clientId, old: [{ hint: old.slice(-4), expiresAt: expect.any(String) }] });
  expect((Date.parse(rotated.old[0].expiresAt) - Date.now()) / 86_400_000).toBeCloseTo(7, 1);
  expect(fresh).toMatch(/^cess_live_/);
  expect([await accepts(clientId, old), await accepts(clientId, fresh)]).toEqual([true, true]);

  const third = await run('client', 'rotate-secret', clientId);
  expect(third).toEqual(refusal(1, new RegExp(`The older one ends at ${rotated.old[0].expiresAt}`)));
  const { clientSecret: last } = await json('client', 'rotate-secret', clientId, '--expire-old', '0');
  const accepted = await Promise.all([old, fresh, last].map((secret) => accepts(clientId, secret)));
  expect(accepted).toEqual([false, false, true]);
});
