import { chown, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { protectedUrl } from '../../src/adapters/database/databaseUrl.js';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { prepareCluster } from '../../src/embedded/postgresCluster.js';
import { refusal } from '../cli/operator.js';
import { runJson, runProgram } from '../cli/runProgram.js';
import { tlsFiles } from '../support/tlsFiles.js';
import { call } from '../support/http.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { expectCleanExit } from './servers.js';

/** Only the role `postgres`, which supervises the cluster, may use plain text; other roles need a certificate. */
const HBA = `host all postgres 127.0.0.1/32 scram-sha-256
hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca
`;

const folder = await temporaryDataDir();
const cluster = await prepareCluster(folder.dataDir);
const { uid, gid } = await stat(cluster.pgdata);
for (const [name, content] of Object.entries({ ...tlsFiles, 'tls_hba.conf': HBA })) {
  const file = join(cluster.pgdata, name);
  await writeFile(file, content, { mode: 0o600 });
  await chown(file, uid, gid);
}
const files = { ssl_ca_file: 'ca.crt', ssl_cert_file: 'server.crt', ssl_key_file: 'server.key' };
const settings = { ssl: 'on', ...files, hba_file: join(cluster.pgdata, 'tls_hba.conf') };
const postgres = await openEmbeddedPostgres({ dataDir: folder.dataDir, role: 'server', log: () => {}, settings });
const admin = new Client({ connectionString: postgres.url });
await admin.connect();
await admin.query(`CREATE ROLE owner LOGIN SUPERUSER PASSWORD 'secret'; CREATE ROLE service LOGIN PASSWORD 'secret'`);
afterAll(async () => {
  await killServers();
  await admin.end();
  await postgres.close();
  await folder.remove();
});

interface Parts {
  readonly role?: string;
  readonly host?: string;
  readonly mode?: string | null;
  readonly ca?: string | null;
  readonly client?: boolean;
}

/** An address with which the role `service` may connect, with the given parts changed. */
function addressOf({ role = 'service', host = 'localhost', mode = 'verify-full', ca = 'ca.crt', client }: Parts = {}) {
  const file = (name: string): string => join(folder.dataDir, 'postgres/data', name);
  const url = new URL(`postgresql://${role}:secret@${host}:${new URL(postgres.url).port}/postgres`);
  if (mode !== null) url.searchParams.set('sslmode', mode);
  if (ca !== null) url.searchParams.set('sslrootcert', file(ca));
  if (client !== false) {
    url.searchParams.set('sslcert', file('client.crt'));
    url.searchParams.set('sslkey', file('client.key'));
  }
  return url.href;
}

it('sslmode=verify-full encrypts the connections of migrations, requests, jobs and probes', async () => {
  const environment = { DATABASE_URL: addressOf(), DATA_DIR: join(folder.dataDir, 'service') };
  const owner = { DATABASE_OWNER_URL: addressOf({ role: 'owner' }) };
  expect(await runJson({ ...environment, ...owner }, 'migrate')).toMatchObject({ applied: expect.any(Array) });
  const server = startServer(environment, '--demo');
  const baseUrl = await server.started;
  expect((await call({ baseUrl }, 'GET /readyz')).status).toBe(200);
  const { rows } = await admin.query(
    `SELECT DISTINCT application_name AS name, ssl, client_dn AS dn
     FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = 'service' ORDER BY name`,
  );
  expect(rows).toEqual(
    ['probe', 'service'].map((name) => ({ name: `clinical-encounter-${name}`, ssl: true, dn: '/CN=service' })),
  );
  await expectCleanExit(server);
});

it('the start fails with another certificate authority, and names DATABASE_URL', async () => {
  const wrong = startServer({ DATABASE_URL: addressOf({ ca: 'other.crt' }), DATA_DIR: folder.dataDir });
  expect(await wrong.ended).toEqual({ code: 1, signal: null });
  expect(wrong.stderr()).toMatch(/^The service did not start\. The database cannot be used: .*certificate/);
});

it.each<[string, Parts, RegExp]>([
  ['an authority that the system does not know', { ca: null }, /certificate/],
  [
    'sslmode=require without the authority',
    { mode: 'require', ca: null },
    /^The database cannot be used: .*certificate/,
  ],
  ['a host that the certificate does not name', { host: '127.0.0.1' }, /altnames/],
  ['a missing certificate file', { ca: 'none.crt' }, /ENOENT.*none\.crt/],
  ['a missing client certificate', { client: false }, /client certificate/],
  ['plain text to a server that requires TLS', { mode: 'disable' }, /no encryption/],
])('a command refuses %s, and names DATABASE_URL', async (_fault, parts, message) => {
  const refused = await runProgram({ DATABASE_URL: addressOf(parts) }, 'tenant', 'list');
  expect(refused).toEqual(refusal(1, /^(The database|DATABASE_URL) cannot be used: (?!.*secret)/));
  expect(refused.stderr).toMatch(message);
});

it('protectedUrl requires sslmode=disable for plain text to a remote host, and refuses modes that give no protection', () => {
  const to = (host: string, query = '') => protectedUrl('DATABASE_URL', `postgresql://u:secret@${host}/db${query}`);
  for (const host of ['127.0.0.1:5432', 'localhost', '[::1]', '127.8.8.8']) expect(to(host)).toContain(host);
  expect(protectedUrl('DATABASE_URL', 'postgresql:///db?host=/var/run')).toContain('/var/run');
  expect(to('db.example', '?sslmode=disable')).toContain('sslmode=disable');
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    expect(to('db.example', `?sslmode=${mode}&application_name=a`)).toMatch(/sslmode=verify-full&application_name=a$/);
  }
  const said = /^DATABASE_URL must say sslmode=verify-full, or sslmode=disable for plain text\.$/;
  for (const host of ['db.example', '10.0.0.5', 'localhost.example']) expect(() => to(host)).toThrow(said);
  expect(() => to('localhost', '?host=db.example')).toThrow(said);
  for (const mode of ['prefer', 'allow', 'no-verify', '']) {
    const refusal = 'DATABASE_URL must have an sslmode of disable, require, verify-ca, verify-full.';
    expect(() => to('localhost', `?sslmode=${mode}`)).toThrow(refusal);
  }
  const malformed = 'DATABASE_URL is not a valid URL. Check its host, port and percent-encoding.';
  expect(() => protectedUrl('DATABASE_URL', 'postgresql://u:se#cret@h:x/db')).toThrow(malformed);
});
