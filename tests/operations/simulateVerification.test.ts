import { newClient, newPatient, type Partner } from '../support/factories.js';
import { eventsUpTo } from '../support/events.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { newSandbox } from '../support/sandbox.js';

const harness = await openHarness();
const partner = await newSandbox(harness);
let id: string;
beforeEach(async () => {
  id = await newPatient(harness, partner);
});

const play = (status: string, { token }: Pick<Partner, 'token'> = partner, user = id): Promise<Answer> =>
  call(harness, `POST /sandbox/clients/${user}/verification`, { token, json: { status } });
const statuses = async (): Promise<unknown[]> =>
  (await eventsUpTo(harness, partner, 'patient.created'))
    .filter(({ type, data }) => type === 'patient.verification_updated' && data.user_id === id)
    .map(({ data }) => data.isVerified);

describe('simulateVerification 200', () => {
  it('invites, invites again and verifies a patient, and returns it as getPatient does to a client with read:client alone', async () => {
    const invited = (await play('INVITED')).body;
    const now = harness.clock.now.toISOString();
    expect(invited).toMatchObject({ isVerified: 'INVITED', verifierInviteSentDate: now, verifierReminderCount: 0 });
    const again = (await play('INVITED')).body;
    expect(again.verifierJobId).not.toBe(invited.verifierJobId);
    const { status, body } = await play('VERIFIED');
    const { token } = await newClient(harness, partner.tenantId, ['read:client']);
    const read = await call(harness, `GET /clients/${id}`, { token });
    expect([status, body]).toEqual([200, read.body]);
    expect(body).toMatchObject({ isVerified: 'VERIFIED', verifierResultMessage: 'verified' });
    expect(body.verifierResponsePayload).toEqual({ status: 'VERIFIED' });
    expect(await statuses()).toEqual(['INVITED', 'VERIFIED']);
  });

  it('sets NOTVERIFIED for a failed verification, after which the patient can be invited again', async () => {
    await play('INVITED');
    expect((await play('NOTVERIFIED')).body).toMatchObject({ isVerified: 'NOTVERIFIED' });
    expect((await play('INVITED')).body.verifierResultMessage).toBeNull();
    expect(await statuses()).toEqual(['INVITED', 'NOTVERIFIED', 'INVITED']);
  });
});

describe('simulateVerification 409', () => {
  it.each([
    ['NOTVERIFIED', 'NOTVERIFIED'],
    ['NOTVERIFIED', 'VERIFIED'],
    ['INVITED', 'VERIFIED'],
    ['VERIFIED', 'VERIFIED'],
  ])('refuses status %s for a patient with status %s', async (status, current) => {
    const before = current === 'VERIFIED' ? [current] : [];
    for (const earlier of before) await play(earlier);
    const refused = await play(status);
    expectProblem(refused, 409, 'invalid_state');
    expect(refused.body.current_status).toBe(current);
    expect(await statuses()).toEqual(before);
  });
});
