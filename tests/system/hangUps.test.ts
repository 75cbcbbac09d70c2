import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { exampleBody, operationOf, operations, requiredHeaders, targetOf } from '../support/contract.js';
import { newToken } from '../support/factories.js';
import { hangUp, hangUps } from '../support/hangUps.js';
import { call, type Answer } from '../support/http.js';
import type { RawRequest } from '../support/rawHttp.js';
import { startServer } from '../support/serverProcess.js';
import { openStage } from '../support/stage.js';
import { metricsUrlOf } from './servers.js';

/** Callers that hang up at the same time. */
const CALLERS = 8;
/** Callers of each kind. The routes take turns, so that each kind meets several routes. */
const SOME = 16;

const stage = await openStage();
// Each tenant has one slot, so that a single slot that is not released would stop the tenant.
const environment = {
  RATE_LIMIT: 'off',
  METRICS_PORT: '0',
  DATABASE_POOL_SIZE: '2',
};
const server = startServer({ ...stage.environment, ...environment }, '--demo');
const baseUrl = await server.started;
const metricsUrl = metricsUrlOf(server);
const client = await createApiClient(systemContext(stage.db), {
  tenant: 'demo',
  name: 'All',
  permissions,
  clinics: [],
});
const token = await newToken({ baseUrl }, client);
const upload = operationOf('uploadPatientDocument');
const { body } = await call({ baseUrl }, targetOf(upload), { token, json: exampleBody(upload) });
const files = [
  'arazzo.yaml',
  'changelog.atom',
  'changelog.md',
  'clinical-encounter-client.tgz',
  'guide.md',
  'postman.json',
];
const documents = files.map((name) => `/docs/${name}`);
const link = new URL(body.userDocument.fileUrl).pathname;
/** Every operation and several other routes, sent by a client with all permissions. */
const requests = [
  ...operations.map(exampleRequest),
  ...['/', '/docs', '/openapi.json', '/llms.txt', '/nowhere', '/files/none', link, ...documents].map((target) => ({
    target,
  })),
  ...['gzip', 'br'].map((encoding) => ({ target: '/docs', headers: [['Accept-Encoding', encoding]] as const })),
];

function exampleRequest(operation: (typeof operations)[number]): RawRequest {
  const [method = '', target = ''] = targetOf(operation).split(' ');
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    ...requiredHeaders(operation),
  };
  const body = operation.requestBody && { body: JSON.stringify(exampleBody(operation)) };
  return { method, target, headers: Object.entries(headers), ...body };
}

/** Runs this many callers of each kind; the requests take turns. */
async function hangUpAt(origin: string, all: readonly RawRequest[], callers: number): Promise<void> {
  const kinds = hangUps.flatMap((kind) => Array.from({ length: callers }, () => kind));
  const turns = kinds.entries();
  const caller = async (): Promise<void> => {
    for (const [turn, kind] of turns) await hangUp(origin, kind, all[turn % all.length] ?? {});
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

const pid = (): number => server.child.pid ?? 0;
const sockets = (): number =>
  readdirSync(`/proc/${pid()}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid()}/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
/** Connections in use, and callers that wait for one. */
async function connectionsInUse(): Promise<number> {
  const page = await (await fetch(metricsUrl, { headers: { Connection: 'close' } })).text();
  const lines = page.split('\n').filter((line) => /^ces_database_(connections\{.*"used"|waiting)/.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Waits until the work of the abandoned requests has ended. */
async function settled(openBefore: number): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await delay(100)) {
    // The pools may have opened connections meanwhile.
    if (sockets() <= openBefore + 12 && (await connectionsInUse()) <= 1) return;
  }
  throw new Error(`server leaks: ${openBefore} → ${sockets()} sockets, ${await connectionsInUse()} connections in use`);
}

const ask = (target: string): Promise<Answer> => call({ baseUrl }, target, { token, headers: { Connection: 'close' } });

/** Log lines that a hang-up must not cause. On a slow machine, other callers may get 503: they share one slot. */
function wrongLines(): Record<string, unknown>[] {
  const lines = server.logged();
  const aborted = new Set(lines.filter((line) => line['aborted']).map(({ requestId }) => requestId));
  const isOverload = ({ code, requestId }: Record<string, unknown>): boolean =>
    code === 'dependency_unavailable' && !aborted.has(requestId);
  const ofRequests = lines.filter(({ msg }) => msg === 'request failed');
  return [...ofRequests.filter((line) => !isOverload(line)), ...lines.filter(({ level }) => Number(level) >= 60)];
}

async function expectUnharmed(openBefore: number): Promise<void> {
  await settled(openBefore);
  expect((await ask('GET /readyz')).status).toBe(200);
  // Each request needs the tenant's only slot.
  for (let turn = 0; turn < 3; turn += 1) expect((await ask('GET /clinics')).status).toBe(200);
  expect(wrongLines()).toEqual([]);
  // No exception, and no warning such as the one for too many listeners.
  expect(server.stderr()).not.toMatch(/warning|error|^ +at /im);
  expect(server.child.exitCode).toBeNull();
}

it('the server survives callers that hang up at several points of requests, and releases their slots, sockets and connections', async () => {
  const before = sockets();
  await hangUpAt(baseUrl, requests, SOME);
  await hangUpAt(metricsUrl, [{ target: '/metrics' }, { target: '/' }], 2);
  await expectUnharmed(before);
});
