import { newPartner, newPatient, patientBody } from '../../support/factories.js';
import { startHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';

it('a commit with events wakes the delivery of webhooks, but a 409 or a read does not', async () => {
  let woken = 0;
  const harness = await startHarness({
    change: (services) => Object.assign(services, { wakeDeliveries: () => (woken += 1) }),
  });
  try {
    const partner = await newPartner(harness);
    const { token } = partner;
    const email = 'jane@example.com';
    const patientId = await newPatient(harness, partner, { email });
    expect(woken).toBe(1);
    const refused = await call(harness, 'POST /clients', { token, json: patientBody({ email }) });
    const read = await call(harness, `GET /clients/${patientId}`, { token });
    expect([refused.status, read.status, woken]).toEqual([409, 200, 1]);
  } finally {
    await harness.close();
  }
});
