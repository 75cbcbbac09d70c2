import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mock } from 'node:test';
import { hashClientSecret } from '../../src/domain/access/apiClientSecrets.js';
import { presets } from '../../src/domain/access/permissions.js';
import { refusal, openOperator } from './operator.js';

const { harness, run, json, createClient, accepts } = await openOperator();
await json('tenant', 'create', 'Lakeside Health');

describe('tenant create', () => {
  it('derives the id from the name, and the tenant is listed', async () => {
    const created = await json('tenant', 'create', 'Zoë’s Clinics, Inc.', '--mode', 'sandbox');
    const defaults = { isActive: true, requireLicensedProvider: false };
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
    const safe = { requireLicensedProvider: true, minimumAge: 18, recordRetentionYears: 7 };
    const lakeside = { ...settings, id: 'lakeside-health', name: 'Lakeside Health', mode: 'live', ...safe };
    expect(await json('tenant', 'list')).toEqual([lakeside, created]);
    expect((await run('tenant', 'list')).stdout).toMatch(
      /^ID +NAME +MODE +ACTIVE +CURRENCY +CREATED\nlakeside-health +Lakeside Health +live +yes +USD +20/,
    );
  });

  it('fills a sandbox with the records of the examples, and leaves a live tenant empty', async () => {
    for (const mode of ['sandbox', 'live']) {
      await json('tenant', 'create', `Try ${mode}`, '--mode', mode, '--require-licensed-provider', 'on');
    }
    const [full, empty] = [{ tenantId: 'try-sandbox' }, { tenantId: 'try-live' }];
    const encounters = await harness.domain.db.prisma.encounter.findMany({ where: full });
    const numbers = [123, 124, 125, 126, 127, 131, 132, 133].map((number) => `GFE-100${number}`);
    expect(encounters.map(({ gfeNo }) => gfeNo).sort()).toEqual(numbers);
    const { blobPath } = await harness.domain.db.prisma.document.findFirstOrThrow({ where: full });
    const file = await readFile(join(harness.dataDir, 'documents', blobPath));
    expect(file.toString()).toMatch(/^%PDF-[^]*%%EOF$/);
    expect(await json('client', 'list', '--tenant', 'try-sandbox')).toMatchObject([
      { name: 'Sandbox fixtures', isActive: false, permissions: [...presets.partner], secrets: [] },
    ]);
    expect([
      await harness.domain.db.prisma.clinic.count({ where: empty }),
      await harness.domain.db.prisma.patient.count({ where: empty }),
    ]).toEqual([0, 0]);
  });

  it.each([
    ['a name that another tenant has', ['LAKESIDE health', '--id', 'other']],
    ['an id that another tenant has', ['Other', '--id', 'lakeside-health']],
  ])('refuses %s in one line, with exit code 1', async (_fault, args) => {
    const refused = await run('tenant', 'create', ...args);
    expect(refused).toEqual(refusal(1, /^This name or id is already used by tenant.*\n$/));
  });
});

describe('tenant list', () => {
  it('prints every setting as JSON, and shows the safe value of each for a new live tenant', async () => {
    const args = ['--require-licensed-provider', 'off'];
    const relaxed = await json('tenant', 'create', 'Relaxed', ...args);
    const tenants = async (): Promise<unknown[]> => json('tenant', 'list');
    expect(await tenants()).toContainEqual(relaxed);
    expect(relaxed).toMatchObject({ mode: 'live', requireLicensedProvider: false, minimumAge: 18 });
    const safe = { id: 'lakeside-health', requireLicensedProvider: true, minimumAge: 18 };
    expect(await tenants()).toContainEqual(expect.objectContaining(safe));
    const changed = await json('tenant', 'configure', 'relaxed', '--minimum-age', '21');
    expect(changed).toEqual({ ...relaxed, minimumAge: 21 });
    expect(await tenants()).toContainEqual(changed);
  });
});

describe('tenant deactivate and activate', () => {
  it('change only the named tenant, print when running servers apply it, and refuse an unknown tenant', async () => {
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
    // The database stores only the hash.
    const rows = await harness.domain.db.prisma.$queryRaw<
      { row: string }[]
    >`SELECT s::text AS row FROM api_client_secret s`;
    expect(rows.some(({ row }) => row.includes(created.clientSecret))).toBe(false);
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
    expect(refused).toEqual(refusal(1, 'Tenant lakeside-health already has an API client named "Reviewer".\n'));
    expect(
      await harness.domain.db.prisma.apiClient.count({ where: { tenantId: 'lakeside-health', name: 'Reviewer' } }),
    ).toBe(1);
  });
});

describe('client list and show', () => {
  it('print every property of the client except its secrets', async () => {
    const { clientId, clientSecret } = await createClient('--preset', 'billing', '--name', 'Books');
    const [asJson, asText] = await Promise.all([
      run('client', 'list', '--json'),
      run('client', 'list', '--tenant', 'lakeside-health'),
    ]);
    for (const { stdout } of [asJson, asText]) {
      expect(stdout).toContain(clientId);
      expect(stdout).not.toContain(clientSecret);
      expect(stdout).not.toContain(hashClientSecret(clientSecret).toString());
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
  it('change only the named client, print when running servers apply it, and refuse an unknown client', async () => {
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
    for (const command of ['activate', 'revoke-tokens', 'rotate-secret']) {
      const message = 'There is no API client "ces_aaaaaaaaaaaaaaaaaaaa". See "client list".\n';
      expect(await run('client', command, 'ces_aaaaaaaaaaaaaaaaaaaa')).toEqual(refusal(1, message));
    }
  });

  it('record the time of the database, not that of an operator with a wrong clock', async () => {
    const { clientId } = await createClient('--preset', 'billing');
    const [{ now } = { now: 0 }] = await harness.domain.db.prisma.$queryRaw<{ now: number }[]>`
      SELECT extract(epoch FROM clock_timestamp())::float AS now`;
    mock.timers.enable({ apis: ['Date'], now: Date.parse('2001-01-01') });
    try {
      expect(await run('client', 'revoke-tokens', clientId)).toMatchObject({ code: 0 });
    } finally {
      mock.timers.reset();
    }
    const client = await harness.domain.db.prisma.apiClient.findFirst({ where: { clientId } });
    expect(Math.abs((client?.tokensValidAfter?.getTime() ?? 0) / 1000 - now)).toBeLessThan(600);
  });
});
