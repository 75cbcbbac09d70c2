import { Client } from 'pg';
import { newToken, patientBody } from '../support/factories.js';
import { call } from '../support/http.js';
import { startServer, type ServerProcess } from '../support/serverProcess.js';
import { openStage, type Stage } from '../support/stage.js';
import { newCredentials } from '../system/servers.js';
import { figure, isFull, tally } from './faults.js';

const CALLERS = 30;
/** A server without permanent error listeners dies within ten rounds. */
const ROUNDS = isFull ? 1_000 : 100;
/** Responses between two rounds, so that connections are opened, passed on, and in use. */
const RESPONSES = 10;

let stage: Stage;
let server: ServerProcess;
let baseUrl: string;
let token: string;
let observer: Client;
beforeAll(async () => {
  stage = await openStage();
  server = startServer({ ...stage.environment, RATE_LIMIT: 'off', DATABASE_POOL_SIZE: '4' });
  baseUrl = await server.started;
  token = await newToken({ baseUrl }, await newCredentials(stage.db));
  observer = new Client({ connectionString: stage.database.url });
  await observer.connect();
});
afterAll(async () => {
  await observer.end();
  await stage.close();
});

it('the server survives when PostgreSQL terminates all its sessions again and again under the load of 30 callers', async () => {
  const statuses: number[] = [];
  const isOver = new AbortController();
  let answered = (): void => undefined;
  const note = ({ status }: { status: number }): void => {
    statuses.push(status);
    answered();
  };
  // Creation is a transaction of SQL statements; an update is a transaction of Prisma.
  const caller = async (): Promise<void> => {
    while (!isOver.signal.aborted) {
      const created = await call({ baseUrl }, 'POST /clients', { token, json: patientBody() });
      note(created);
      if (created.status !== 201) continue;
      note(await call({ baseUrl }, `PATCH /clients/${created.body.user_id}`, { token, json: { firstName: 'Ann' } }));
    }
  };
  const callers = Promise.all(Array.from({ length: CALLERS }, caller));
  const rounds = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const enough = statuses.length + RESPONSES;
      await new Promise<void>((resolve) => (answered = () => statuses.length >= enough && resolve()));
      await observer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'clinical-encounter%' AND pid <> pg_backend_pid()`);
    }
  };
  // If the server ends, a caller's request rejects.
  await Promise.race([rounds(), callers]).finally(() => isOver.abort());
  await callers;
  figure('sessions ended', JSON.stringify(tally(statuses)));
  expect(statuses.filter((status) => ![200, 201, 503].includes(status))).toEqual([]);
  expect(server.child.exitCode).toBeNull();
  expect((await call({ baseUrl }, 'GET /healthz')).status).toBe(200);
}, 120_000);
