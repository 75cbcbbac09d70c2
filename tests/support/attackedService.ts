import { everyCase } from './everyCase.js';
import { newPartner, type Partner } from './factories.js';
import { openHarness, type Harness } from './harness.js';
import { call } from './http.js';

/** A service that hostile requests are sent to, and a partner of it. */
export interface AttackedService {
  readonly harness: Harness;
  readonly partner: Partner;
  /** {@link everyCase} that also checks after each case that the service is unharmed. */
  everyCase<T>(cases: readonly T[], nameOf: (one: T) => string, check: (one: T) => Promise<void>): Promise<void>;
}

/**
 * Starts the service for the tests of a file. After each test it checks that the service responds and has logged no
 * failed request, and that `Object.prototype` has no member `polluted`.
 */
export async function attackedService(): Promise<AttackedService> {
  const harness = await openHarness();
  const partner = await newPartner(harness);
  let logged = 0;

  async function expectUnharmed(): Promise<void> {
    expect((await call(harness, 'GET /healthz')).status).toBe(200);
    const lines = harness.logged.slice(logged);
    logged = harness.logged.length;
    expect(lines.filter(({ msg }) => msg === 'request failed')).toEqual([]);
    expect(Object.prototype).not.toHaveProperty('polluted');
  }

  afterEach(expectUnharmed);

  return {
    harness,
    partner,
    everyCase: (cases, nameOf, check) =>
      everyCase(cases, nameOf, async (one) => {
        try {
          await check(one);
        } finally {
          await expectUnharmed();
        }
      }),
  };
}
