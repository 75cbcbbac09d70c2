/**
 * `make bench`: requests per second of GET /clients/{id} by the service and by a plain node:http server with one prepared
 * statement, on the same database in the same run. The ratio is what counts: machines differ, the ratio hardly does.
 */
import { createServer } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { Pool } from 'pg';
import { pino } from 'pino';
import { openDatabase } from '../src/adapters/database/database.js';
import { openEmbeddedPostgres } from '../src/embedded/embeddedPostgres.js';
import { migrate } from '../src/adapters/database/migrations.js';
import { createApp } from '../src/app.js';
import { readConfig } from '../src/config.js';
import { createDemo } from '../src/domain/sandbox/demo.js';
import { createHttpServer, listen } from '../src/http/server.js';
import { systemContext } from '../src/runtime/systemContext.js';
import { openServices } from '../src/runtime/services.js';

const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 10);
const dataDir = await mkdtemp(join(tmpdir(), 'ces-bench-'));
const config = readConfig({ DATA_DIR: dataDir });
const database = await openEmbeddedPostgres({ dataDir, role: 'server', log: () => undefined });
await migrate(database.url);
const domain = systemContext(openDatabase(database.url, { poolSize: 10 }));
const log = pino({ level: 'silent' });
let baseUrl = '';
const options = { config, domain, databaseUrl: database.url, log, baseUrl: () => baseUrl, isStopping: () => false };
const services = await openServices(options);
const server = createHttpServer(await createApp(services), domain.newId, () => ({}), config);
baseUrl = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}`;

const [tenant] = await createDemo(domain, services.objects);
if (!tenant) throw new Error('no demo tenant');
const post = async (path: string, body: object, token = ''): Promise<Record<string, string>> => {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  const response = await fetch(baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await response.json()) as Record<string, string>;
};
const { clientId: client_id, clientSecret: client_secret } = tenant;
const { access_token: token } = await post('/oauth/token', {
  grant_type: 'client_credentials',
  client_id,
  client_secret,
});
const jane = { firstName: 'Jane', lastName: 'Miller', email: 'jane@example.com', dateOfBirth: '1990-06-30' };
const { user_id: id } = await post('/clients', { ...jane, countryCode: '+1', phone: '5125550142' }, token);

const pool = new Pool({ connectionString: database.url, max: 10 });
pool.on('error', () => undefined);
const select = { name: 'patient', text: 'SELECT * FROM client WHERE tenant_id = $1 AND id = $2' };
const baseline = createServer((_req, res) => {
  void pool.query({ ...select, values: ['demo', id] }).then(({ rows }) => {
    res.setHeader('Content-Type', 'application/json').end(JSON.stringify(rows[0]));
  });
});
const baselineUrl = `http://127.0.0.1:${await listen(baseline, 0, '127.0.0.1')}`;

const measure = async (url: string): Promise<number> => {
  // In a worker of its own, so that the load does not count as work of the server.
  const options = {
    url: `${url}/clients/${id}`,
    connections: 20,
    workers: 1,
    headers: { Authorization: `Bearer ${token}` },
  };
  await autocannon({ ...options, duration: 3 });
  const { requests, non2xx, errors } = await autocannon({ ...options, duration: SECONDS });
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests failed`);
  return requests.average;
};
const plain = await measure(baselineUrl);
const service = await measure(baseUrl);
process.stdout.write(
  `plain node:http + pg   ${plain.toFixed(0)} requests/s\nGET /clients/{id}      ${service.toFixed(0)} requests/s\n`,
);
process.stdout.write(`ratio                  ${(plain / service).toFixed(1)}\n`);

baseline.close();
server.close();
await Promise.all([pool.end(), domain.db.$disconnect()]);
await database.close();
await rm(dataDir, { recursive: true, force: true });
process.exit(0);
