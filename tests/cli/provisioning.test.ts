import { hashClientSecret } from '../../src/domain/access/apiClientSecrets.js';
import { presets } from '../../src/domain/access/permissions.js';
import { refusal, openOperator } from './operator.js';

const { harness, run, json, createClient, accepts } = await openOperator();
await json('tenant', 'create', 'Lakeside Health');

describe('tenant create', () => {
  it('derives the id from the name, lists the tenant, and fills a sandbox with fixtures', async () => {
    const args = ['--mode', 'sandbox', '--require-licensed-provider', 'on'];
    const created = await json('tenant', 'create', 'Zoë’s Clinics, Inc.', ...args);
    const defaults = { isActive: true, requireLicensedProvider: true };
    const settings = {
      ...defaults,
      minimumAge: 0,
      recordRetentionYears: 0,
      currency: 'USD',
      createdAt: expect.any(String),
    };
    expect(created).toEqual({
      ...settings,
      ...{ id: 'zoe-s-clinics-inc', name: 'Zoë’s Clinics, Inc.', mode: 'sandbox' },
    });
    const safe = { minimumAge: 18, recordRetentionYears: 7 };
    const lakeside = { ...settings, id: 'lakeside-health', name: 'Lakeside Health', mode: 'live', ...safe };
    expect(await json('tenant', 'list')).toEqual([lakeside, created]);
    expect((await run('tenant', 'list')).stdout).toMatch(
      /^ID +NAME +MODE +ACTIVE +CURRENCY +CREATED\nlakeside-health +Lakeside Health +live +yes +USD +20/,
    );
    const { patient } = harness.domain.db.prisma;
    const patients = [created, lakeside].map(({ id: tenantId }) => patient.count({ where: { tenantId } }));
    expect(await Promise.all(patients)).toEqual([2, 0]);
  });

  it.each([
    ['a name that another tenant has', ['LAKESIDE health', '--id', 'other']],
    ['an id that another tenant has', ['Other', '--id', 'lakeside-health']],
  ])('refuses %s in one line, with exit code 1', async (_fault, args) => {
    const refused = await run('tenant', 'create', ...args);
    expect(refused).toEqual(refusal(1, /^Tenant .* has this name or id\. Choose another name or --id\.\n$/));
  });
});

describe('tenant deactivate and activate', () => {
  it('change only the named tenant; deactivate prints when running servers apply it, and refuses an unknown tenant', async () => {
    const inactive = () => harness.domain.db.prisma.tenant.count({ where: { isActive: false } });
    const stdout = 'lakeside-health is no longer active. Running servers apply this within 30 seconds.\n';
    expect(await run('tenant', 'deactivate', 'Lakeside Health')).toEqual({ code: 0, stdout, stderr: '' });
    expect(await inactive()).toBe(1);
    const active = { id: 'lakeside-health', isActive: true };
    expect(await json('tenant', 'activate', 'lakeside-health')).toMatchObject(active);
    expect(await inactive()).toBe(0);
    const message = 'There is no tenant with the id or name "unknown". See "tenant list".\n';
    expect(await run('tenant', 'deactivate', 'unknown')).toEqual(refusal(1, message));
  });
});

describe('client create', () => {
  it('prints exactly clientId, clientSecret and permissions when --tenant is the name of a tenant', async () => {
    const created = await json('client', 'create', '--tenant', 'Lakeside Health', '--preset', 'partner');
    expect(created).toEqual({
      clientId: expect.stringMatching(/^ces_[a-z2-7]{20}$/),
      clientSecret: expect.stringMatching(/^cess_live_[A-Za-z0-9_-]{43}$/),
      permissions: presets.partner,
    });
    expect(await accepts(created.clientId, created.clientSecret)).toBe(true);
  });

  it('gives the partner of a sandbox tenant a test secret and sandbox:simulate', async () => {
    await json('tenant', 'create', 'Trial', '--mode', 'sandbox');
    const created = await json('client', 'create', '--tenant', 'trial', '--preset', 'partner');
    expect(created).toMatchObject({
      clientSecret: expect.stringMatching(/^cess_test_/),
      permissions: [...presets.partner, 'sandbox:simulate'],
    });
  });

  it('accepts permissions with or without a preset, and limits the client to clinics', async () => {
    const billing = await createClient('--preset', 'billing', '--permissions', 'read:client, read:order');
    expect(billing.permissions).toEqual(['read:client', ...presets.billing]);
    const id = '01a05c32-5e80-7000-8000-00000000c101';
    const names = { legalName: 'A', displayName: 'A', email: 'a@x.example' };
    const times = { createdAt: new Date(), updatedAt: new Date() };
    await harness.domain.db.prisma.clinic.create({
      data: { id, tenantId: 'lakeside-health', ...names, isActive: true, ...times },
    });
    const { clientId, permissions } = await createClient('--permissions', 'admin:clinic', '--clinic', id.toUpperCase());
    expect(permissions).toEqual(['admin:clinic']);
    expect(await harness.domain.db.prisma.apiClient.findFirst({ where: { clientId } })).toMatchObject({
      allowedClinicIds: [id],
    });
  });

  const unknownClinic = '01a05c32-5e80-7000-8000-00000000ffff';
  it.each([
    ['an unknown tenant', ['--tenant', 'unknown', '--preset', 'partner'], /no tenant with the id or name "unknown"/],
    ['an unknown clinic', ['--preset', 'partner', '--clinic', unknownClinic], /has no clinic 01a05c32/],
  ])('refuses %s', async (_fault, args, message) => {
    const refused = await run('client', 'create', '--tenant', 'lakeside-health', ...args);
    expect(refused).toEqual(refusal(1, message));
  });

  it('refuses a name that another client of the tenant has, and creates no client', async () => {
    const args = ['--preset', 'provider', '--name', 'Reviewer'];
    await createClient(...args);
    const refused = await run('client', 'create', '--tenant', 'lakeside-health', ...args);
    const message = 'Tenant lakeside-health has an API client named "Reviewer". Choose another name.\n';
    expect(refused).toEqual(refusal(1, message));
    expect(
      await harness.domain.db.prisma.apiClient.count({ where: { tenantId: 'lakeside-health', name: 'Reviewer' } }),
    ).toBe(1);
  });
});

describe('client list', () => {
  it('prints every property of the client with --json, and its secret neither as JSON nor as text', async () => {
    const { clientId, clientSecret } = await createClient('--preset', 'billing', '--name', 'Books');
    const [asJson, asText] = await Promise.all([
      run('client', 'list', '--json'),
      run('client', 'list', '--tenant', 'lakeside-health'),
    ]);
    for (const { stdout } of [asJson, asText]) {
      expect(stdout).toContain(clientId);
      expect(stdout).not.toContain(clientSecret);
      const hash = Buffer.from(hashClientSecret(clientSecret));
      expect(stdout).not.toContain(hash.toString('hex'));
      expect(stdout).not.toContain(hash.toString('base64'));
    }
    const hint = clientSecret.slice(-4);
    expect(asText.stdout).toContain(`…${hint}`);
    const client = {
      ...{ clientId, tenantId: 'lakeside-health', name: 'Books', permissions: [...presets.billing] },
      ...{ requestsPerMinute: null, allowedClinicIds: null, allowedPharmacyIds: null, isActive: true },
      ...{ tokensValidAfter: null, lastUsedAt: null, createdAt: expect.any(String) },
      secrets: [
        {
          id: expect.any(String),
          hint,
          createdAt: expect.any(String),
          expiresAt: null,
          lastUsedAt: null,
          isActive: true,
        },
      ],
    };
    const clients: { clientId: string }[] = JSON.parse(asJson.stdout);
    expect(clients.filter((listed) => listed.clientId === clientId)).toEqual([client]);
  });
});

describe('client deactivate and revoke-tokens', () => {
  it('change the named client, and refuse an unknown one; revoke-tokens prints when running servers apply it', async () => {
    const { clientId } = await createClient('--preset', 'billing');
    const revoked = await run('client', 'revoke-tokens', clientId);
    expect(revoked).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('within 30 seconds') });
    const client = await harness.domain.db.prisma.apiClient.findFirst({ where: { clientId } });
    expect(Date.now() - (client?.tokensValidAfter?.getTime() ?? 0)).toBeLessThan(10_000);
    expect(client?.isActive).toBe(true);
    expect(await json('client', 'deactivate', clientId)).toEqual({ clientId, isActive: false });
    const inactive = await harness.domain.db.prisma.apiClient.findMany({
      where: { tenantId: 'lakeside-health', isActive: false },
    });
    expect(inactive.map((row) => row.clientId)).toEqual([clientId]);
    for (const command of ['deactivate', 'activate', 'revoke-tokens', 'rotate-secret']) {
      const message = 'There is no API client "ces_aaaaaaaaaaaaaaaaaaaa". See "client list".\n';
      expect(await run('client', command, 'ces_aaaaaaaaaaaaaaaaaaaa')).toEqual(refusal(1, message));
    }
  });
});
