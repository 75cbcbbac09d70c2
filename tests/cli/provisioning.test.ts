import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { hashClientSecret } from '../../src/domain/access/clientSecrets.js';
import { presets } from '../../src/domain/access/permissions.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { runJson, runProgram } from './runProgram.js';

let database: TestDatabase;
let db: Database;
let dataDir = '';
let environment: Record<string, string> = {};

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase(database.url);
  dataDir = await mkdtemp(join(tmpdir(), 'ces-cli-'));
  environment = { DATABASE_URL: database.url, DATA_DIR: dataDir };
  await runJson(environment, 'tenant', 'create', 'Lakeside Health');
});

afterAll(async () => {
  await db.close();
  await database.drop();
  await rm(dataDir, { recursive: true });
});

const json = (...args: string[]) => runJson(environment, ...args);
const run = (...args: string[]) => runProgram(environment, ...args);

interface Created {
  clientId: string;
  clientSecret: string;
  permissions: string[];
}

async function createClient(...args: string[]): Promise<Created> {
  return (await json('client', 'create', '--tenant', 'lakeside-health', ...args)) as Created;
}

/** Whether the token endpoint would accept the secret now. */
async function accepts(clientId: string, secret: string): Promise<boolean> {
  const client = await db.prisma.apiClient.findUnique({ where: { clientId }, include: { secrets: true } });
  const live = (client?.secrets ?? []).filter(({ expiresAt }) => expiresAt === null || expiresAt > new Date());
  return live.some(({ secretHash }) => Buffer.from(secretHash).equals(hashClientSecret(secret)));
}

describe('tenant create', () => {
  it('derives the id from the name, and the tenant is listed', async () => {
    const created = await json('tenant', 'create', 'Zoë’s Clinics, Inc.', '--mode', 'sandbox');
    expect(created).toEqual({
      id: 'zoe-s-clinics-inc',
      name: 'Zoë’s Clinics, Inc.',
      mode: 'sandbox',
      isActive: true,
      gfeReuse: false,
      gfeReuseMonths: 12,
      requireLicensedProvider: false,
      currency: 'USD',
      createdAt: expect.any(String),
    });
    expect(await json('tenant', 'list')).toEqual([
      {
        ...(created as object),
        id: 'lakeside-health',
        name: 'Lakeside Health',
        mode: 'live',
        createdAt: expect.any(String),
      },
      created,
    ]);
    expect((await run('tenant', 'list')).stdout).toMatch(
      /^ID +NAME +MODE +ACTIVE +GFE REUSE +CURRENCY +CREATED\nlakeside-health +Lakeside Health +live +yes +off +USD +20/,
    );
  });

  it('fills a sandbox with the records of the examples, and leaves a live tenant empty', async () => {
    for (const mode of ['sandbox', 'live']) await json('tenant', 'create', `Try ${mode}`, '--mode', mode);
    const [full, empty] = [{ tenantId: 'try-sandbox' }, { tenantId: 'try-live' }];
    expect((await db.prisma.encounter.findMany({ where: full })).map(({ gfeNo }) => gfeNo).sort()).toEqual([
      'GFE-100123',
      'GFE-100124',
      'GFE-100125',
      'GFE-100126',
      'GFE-100127',
      'GFE-100131',
    ]);
    const { blobPath } = await db.prisma.document.findFirstOrThrow({ where: full });
    expect((await readFile(join(dataDir, 'documents', blobPath))).toString()).toMatch(/^%PDF-[^]*%%EOF$/);
    expect(await json('client', 'list', '--tenant', 'try-sandbox')).toMatchObject([
      { name: 'Sandbox fixtures', isActive: false, permissions: [], secrets: [] },
    ]);
    expect([await db.prisma.clinic.count({ where: empty }), await db.prisma.patient.count({ where: empty })]).toEqual([
      0, 0,
    ]);
  });

  it.each([
    ['a name that another tenant has', ['LAKESIDE health', '--id', 'other'], /There is a tenant of that name/],
    ['an id that another tenant has', ['Other', '--id', 'lakeside-health'], /There is a tenant of that name or id/],
  ])('refuses %s in one line, with exit code 1', async (_fault, args, message) => {
    const { code, stdout, stderr } = await run('tenant', 'create', ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd()).not.toContain('\n');
  });
});

describe('tenant deactivate and activate', () => {
  it('change one tenant, say when running servers follow, and refuse an unknown tenant', async () => {
    const off = await run('tenant', 'deactivate', 'Lakeside Health');
    expect(off).toEqual({
      code: 0,
      stderr: '',
      stdout: 'lakeside-health is no longer active. Running servers follow within 30 seconds.\n',
    });
    expect(await db.prisma.tenant.count({ where: { isActive: false } })).toBe(1);
    const on = { id: 'lakeside-health', isActive: true };
    expect(await json('tenant', 'activate', 'lakeside-health')).toMatchObject(on);
    expect(await db.prisma.tenant.count({ where: { isActive: false } })).toBe(0);
    const { code, stderr } = await run('tenant', 'deactivate', 'unknown');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'There is no tenant with the id or name "unknown": see "tenant list".\n',
    });
  });
});

describe('client create', () => {
  it('prints exactly clientId, clientSecret and permissions, for a tenant by its name', async () => {
    const created = await json('client', 'create', '--tenant', 'Lakeside Health', '--preset', 'partner');
    expect(created).toEqual({
      clientId: expect.stringMatching(/^ces_[a-z2-7]{20}$/),
      clientSecret: expect.stringMatching(/^cess_live_[A-Za-z0-9_-]{43}$/),
      permissions: presets.partner,
    });
    const { clientId, clientSecret } = created as Created;
    expect(await accepts(clientId, clientSecret)).toBe(true);
    // The database stores only the hash.
    const rows = await db.prisma.$queryRaw<{ row: string }[]>`SELECT s::text AS row FROM api_client_secret s`;
    expect(rows.some(({ row }) => row.includes(clientSecret))).toBe(false);
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
    expect((await createClient('--preset', 'billing', '--permissions', 'read:event, read:order')).permissions).toEqual([
      'read:order',
      'write:order',
      'read:event',
    ]);
    const now = new Date();
    const id = '01a05c32-5e80-7000-8000-00000000c101';
    await db.prisma.clinic.create({
      data: {
        id,
        tenantId: 'lakeside-health',
        legalName: 'A',
        displayName: 'A',
        email: 'a@x.example',
        isActive: true,
        createdAt: now,
        updatedAt: now,
      },
    });
    const { clientId, permissions } = await createClient('--permissions', 'admin:clinic', '--clinic', id.toUpperCase());
    expect(permissions).toEqual(['admin:clinic']);
    expect(await db.prisma.apiClient.findUnique({ where: { clientId } })).toMatchObject({ allowedClinicIds: [id] });
  });

  it.each([
    ['an unknown tenant', ['--tenant', 'unknown', '--preset', 'partner'], /no tenant with the id or name "unknown"/],
    [
      'an unknown clinic',
      ['--tenant', 'lakeside-health', '--preset', 'partner', '--clinic', '01a05c32-5e80-7000-8000-00000000ffff'],
      /has no clinic 01a05c32/,
    ],
  ])('refuses %s', async (_fault, args, message) => {
    const { code, stdout, stderr } = await run('client', 'create', ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('refuses a name that another client of the tenant has, and creates no client', async () => {
    await createClient('--preset', 'provider', '--name', 'Reviewer');
    const { code, stderr } = await run(
      'client',
      'create',
      '--tenant',
      'lakeside-health',
      '--preset',
      'provider',
      '--name',
      'Reviewer',
    );
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Tenant lakeside-health has an API client named "Reviewer" already.\n',
    });
    expect(await db.prisma.apiClient.count({ where: { tenantId: 'lakeside-health', name: 'Reviewer' } })).toBe(1);
  });
});

describe('client list', () => {
  it('shows everything but the secrets', async () => {
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
    const clients = JSON.parse(asJson.stdout) as { clientId: string }[];
    expect(await json('client', 'show', clientId)).toEqual(clients.find((client) => client.clientId === clientId));
    expect((await run('client', 'show', clientId)).stdout).toMatch(
      /^tenant +lakeside-health\nname +Books\nclient id +ces_.*\nactive +yes\npermissions +read:order write:order\nclinics +all/,
    );
    expect(clients.find((client) => client.clientId === clientId)).toEqual({
      clientId,
      tenantId: 'lakeside-health',
      name: 'Books',
      permissions: ['read:order', 'write:order'],
      requestsPerMinute: null,
      allowedClinicIds: null,
      allowedPharmacyIds: null,
      isActive: true,
      tokensValidAfter: null,
      lastUsedAt: null,
      createdAt: expect.any(String),
      secrets: [
        {
          id: expect.any(String),
          hint: clientSecret.slice(-4),
          createdAt: expect.any(String),
          expiresAt: null,
          lastUsedAt: null,
          isActive: true,
        },
      ],
    });
    expect(asText.stdout).toContain(`…${clientSecret.slice(-4)}`);
  });
});

describe('client deactivate and revoke-tokens', () => {
  it('change the client, say when running servers follow, and refuse an unknown client', async () => {
    const { clientId } = await createClient('--preset', 'billing');
    const revoked = await run('client', 'revoke-tokens', clientId);
    expect(revoked).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('within 30 seconds') });
    const client = await db.prisma.apiClient.findUnique({ where: { clientId } });
    expect(Date.now() - (client?.tokensValidAfter?.getTime() ?? 0)).toBeLessThan(10_000);
    expect(client?.isActive).toBe(true);
    expect(await json('client', 'deactivate', clientId)).toEqual({ clientId, isActive: false });
    expect((await db.prisma.apiClient.findUnique({ where: { clientId } }))?.isActive).toBe(false);
    const others = await db.prisma.apiClient.count({ where: { tenantId: 'lakeside-health', isActive: false } });
    expect(others).toBe(1);
    for (const command of ['show', 'deactivate', 'revoke-tokens', 'rotate-secret', 'retire-secret']) {
      expect(await run('client', command, 'ces_aaaaaaaaaaaaaaaaaaaa')).toEqual({
        code: 1,
        stdout: '',
        stderr: 'There is no API client "ces_aaaaaaaaaaaaaaaaaaaa": see "client list".\n',
      });
    }
  });
});

it('client revoke-tokens writes the time of the database when the operator has a wrong clock', async () => {
  const { clientId } = await createClient('--preset', 'billing');
  const [{ now } = { now: 0 }] = await db.prisma.$queryRaw<{ now: number }[]>`
    SELECT extract(epoch FROM clock_timestamp())::float AS now`;
  mock.timers.enable({ apis: ['Date'], now: Date.parse('2001-01-01') });
  try {
    expect(await run('client', 'revoke-tokens', clientId)).toMatchObject({ code: 0 });
  } finally {
    mock.timers.reset();
  }
  const client = await db.prisma.apiClient.findUnique({ where: { clientId } });
  expect(Math.abs((client?.tokensValidAfter?.getTime() ?? 0) / 1000 - now)).toBeLessThan(600);
});
