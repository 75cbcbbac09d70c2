import type { Services } from '../../src/context.js';
import { everyCase } from '../support/everyCase.js';
import { newPartner, patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type CallOptions } from '../support/http.js';

/** Name of the service that throws when it is used. */
let broken: string | undefined;
/** Errors that would end the process. */
const uncaught: unknown[] = [];
const note = (error: unknown): void => void uncaught.push(error);

/** The services, of which the broken one throws on access. */
function breakable(services: Services): Services {
  return new Proxy(services, {
    get(target, name, receiver): unknown {
      if (name === broken) throw new TypeError('broken on purpose');
      return Reflect.get(target, name, receiver);
    },
  });
}

const harness = await openHarness({ change: breakable });
process.on('uncaughtException', note).on('unhandledRejection', note);
afterAll(() => void process.off('uncaughtException', note).off('unhandledRejection', note));

it('the service keeps running and leaves no error uncaught when any of its parts throws in a request', async () => {
  const partner = await newPartner(harness);
  const { token } = partner;
  const requests = (): [string, CallOptions?][] => [
    ['GET /docs'],
    ['GET /openapi.json'],
    ['GET /files/none'],
    ['GET /clinics', { token }],
    ['POST /clients', { token, json: patientBody() }],
    ['POST /oauth/token', { json: {} }],
  ];
  // Without ids or a log the service cannot respond: it closes the connection.
  const ask = (): Promise<number>[] =>
    requests().map(([target, options]) =>
      call(harness, target, options).then(
        ({ status }) => status,
        () => 500,
      ),
    );
  await everyCase(Object.keys(harness.services), String, async (name) => {
    broken = name;
    const statuses = await Promise.all(ask()).finally(() => (broken = undefined));
    expect([200, 201, 400, 403, 500, 503]).toEqual(expect.arrayContaining(statuses));
    // One more request, so that the handlers of the others have run.
    expect((await call(harness, 'GET /healthz')).status).toBe(200);
    expect(uncaught.splice(0)).toEqual([]);
  });
});
