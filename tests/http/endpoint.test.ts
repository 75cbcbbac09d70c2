import { cast } from '../support/cast.js';
import { newPartner, newToken } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { createTestDatabase } from '../support/postgres.js';
import { rawCall } from '../support/rawHttp.js';
import { newSandbox, setClock } from '../support/sandbox.js';

const database = await createTestDatabase();
const harness = await startHarness({ databaseUrl: database.url });
/** A second server on the same database, with separate signing keys. */
const other = await startHarness({ databaseUrl: database.url });
afterAll(async () => {
  await Promise.all([harness.close(), other.close()]);
  await database.drop();
});

it('a request target with a fragment or in absolute form gets the same response and headers as the plain path', async () => {
  const { token } = await newPartner(harness);
  const targets = ['/clinics?limit=7', '/clinics?limit=7#top', 'http://localhost/clinics?limit=7'];
  const headers = [
    ['Authorization', `Bearer ${token}`],
    ['X-Request-Id', harness.domain.newId()],
  ] as const;
  const [first, ...others] = await Promise.all(
    targets.map(async (target) => {
      const {
        status,
        text,
        headers: { date: _, ...sent },
      } = await rawCall(harness, { target, headers });
      return { status, text, sent: Object.entries(sent) };
    }),
  );
  expect(first).toMatchObject({ status: 200, text: expect.stringContaining('"limit":7') });
  expect(others).toEqual([first, first]);
});

it('a move of the sandbox clock applies to the next request, and on another server within a second', async () => {
  const sandbox = await newSandbox(harness);
  const elsewhere = { token: await newToken(other, sandbox) };
  // The status of an approval depends only on the time of the read.
  const shownOn = async (server: Harness, { token }: { readonly token: string }): Promise<string[]> => {
    const { body } = await call(server, `GET /encounters/${cast.encounters.completed.encounter_id}`, { token });
    return body.gfe_data.map((item: { status: string }) => item.status);
  };
  expect([await shownOn(harness, sandbox), await shownOn(other, elsewhere)].flat()).not.toContain('expired');
  expect((await setClock(harness, sandbox, 400 * 24 * 3_600)).status).toBe(200);
  expect(await shownOn(harness, sandbox)).toContain('expired');
  other.clock.advance(1);
  expect(await shownOn(other, elsewhere)).toContain('expired');
});
