import { randomUUID } from 'node:crypto';
import { newToken, patientBody } from '../support/factories.js';
import { openStage } from '../support/stage.js';
import { call } from '../support/http.js';
import { startServer } from '../support/serverProcess.js';
import { newCredentials } from './servers.js';

const REQUESTS = 1_000;
const AT_ONCE = 40;

const stage = await openStage();

it('the server writes one audit row for every answered request, even when it is killed under load', async () => {
  const server = startServer({ ...stage.environment, LOG_LEVEL: 'info' });
  const baseUrl = await server.started;
  const token = await newToken({ baseUrl }, await newCredentials(stage.db));
  const { body } = await call({ baseUrl }, 'POST /clients', { token, json: patientBody() });
  const targets = [`GET /clients/${body.user_id}`, 'GET /clinics', `GET /clients/${randomUUID()}`, 'POST /clients'];

  const answered: string[] = [];
  let sent = 0;
  const work = async (): Promise<void> => {
    while (sent < REQUESTS) {
      const target = targets[sent % targets.length] ?? '';
      sent += 1;
      const requestId = randomUUID();
      const json = target === 'POST /clients' ? { json: patientBody() } : {};
      const response = call({ baseUrl }, target, { token, ...json, headers: { 'X-Request-Id': requestId } });
      const isAnswered = await response.then(
        () => true,
        () => false,
      );
      if (isAnswered) answered.push(requestId);
      if (answered.length === REQUESTS / 2) server.child.kill('SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await server.ended;

  expect(answered.length).toBeGreaterThanOrEqual(REQUESTS / 2);
  expect(answered.length).toBeLessThan(REQUESTS);
  const rows = await stage.db.prisma.$queryRaw<{ id: string; count: number }[]>`
    SELECT request_id AS id, count(*)::int AS count FROM audit_event
    WHERE request_id = ANY (${answered}::uuid[]) GROUP BY 1`;
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(answered));
  expect(rows.filter(({ count }) => count !== 1)).toEqual([]);
});
