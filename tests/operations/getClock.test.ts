import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { newSandbox, setClock } from '../support/sandbox.js';

const harness = await openHarness();
const partner = await newSandbox(harness);

const getClock = ({ token }: { readonly token: string | undefined } = partner): Promise<Answer> =>
  call(harness, 'GET /sandbox/clock', { token });

describe('getClock 200', () => {
  it('advances with real time from the offset that was set', async () => {
    await setClock(harness, partner, 3600);
    harness.clock.advance(60);
    const now = new Date(harness.clock.now.getTime() + 3_600_000).toISOString();
    expect((await getClock()).body).toEqual({ now, offsetSeconds: 3600 });
  });
});
