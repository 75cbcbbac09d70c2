import { Prisma } from '../../../generated/prisma/client.js';
import { cast } from '../../support/cast.js';
import { newPatient, patientBody } from '../../support/factories.js';
import { sampleFiles, startFileHost } from '../../support/fileHost.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { whileBlocked } from '../../support/lockWaits.js';
import { expectProblem } from '../../support/refusals.js';
import { newSandbox, reset, setClock, simulate, thingsOf } from '../../support/sandbox.js';

// A client may reset a sandbox while other clients use it.

const host = await startFileHost();
afterAll(() => host.close());
// A sandbox has an eighth of the pool; with this pool, hardly a request waits for a slot.
const environment = { DOCUMENT_FETCH_ALLOWED_HOSTS: host.host, DATABASE_POOL_SIZE: '160' };
const harness = await openHarness({ environment });
const partner = await newSandbox(harness);

const records = () => thingsOf(harness, partner.tenantId);
const initialRecords = await records();
const post = (path: string, json: unknown): Promise<Answer> =>
  call(harness, `POST ${path}`, { token: partner.token, json });
const encounter = {
  ...{ clinicId: cast.clinics.austin, patientId: cast.jane.id, treatmentIds: [cast.products.botox] },
  ...{ reviewType: 'asynchronous', serviceQueue: 'provider_network' },
};

it('resetSandbox restores the initial records when six resets race', async () => {
  await newPatient(harness, partner);
  const answers = await Promise.all(Array.from({ length: 6 }, () => reset(harness, partner)));
  const statuses = answers.map(({ status }) => status);
  expect(statuses).toContain(204);
  // 409: another reset was under way.
  expect(statuses.filter((status) => status !== 204 && status !== 409)).toEqual([]);
  expect(await records()).toEqual(initialRecords);
});

it('resetSandbox causes no 5xx response to simultaneous requests, and a later reset restores the initial records', async () => {
  const work: (() => Promise<Answer>)[] = [
    () => post('/clients', patientBody()),
    () => post('/encounters', encounter),
    () => post(`/encounters/${cast.encounters.waiting.encounter_id}/cancel`, { reason: 'other' }),
    () => simulate(harness, partner, cast.encounters.claimed.encounter_id, { outcome: 'approve_all', pay: true }),
    () => setClock(harness, partner, 60),
    () => call(harness, `GET /encounters/${cast.encounters.completed.encounter_id}`, { token: partner.token }),
  ];
  const rounds = Array.from({ length: 3 }, () =>
    Promise.all([reset(harness, partner), ...work.map((request) => request())]),
  );
  const answers = (await Promise.all(rounds)).flat();
  expect(answers.filter(({ status }) => status >= 500).map(({ text }) => text)).toEqual([]);
  expect((await reset(harness, partner)).status).toBe(204);
  expect(await records()).toEqual(initialRecords);
});

it('createPatient that waits for a reset uses the new clock, and creates a patient if the reset removed its Idempotency-Key', async () => {
  const { token, tenantId } = await newSandbox(harness);
  const headers = { 'Idempotency-Key': 'replayed' };
  const json = patientBody();
  const request = () => call(harness, 'POST /clients', { token, json, headers });
  const first = await request();
  const clockOffsetMs = 86_400_000;
  const second = await whileBlocked(
    harness,
    Prisma.sql`SELECT pg_advisory_xact_lock(hashtextextended(${`sandbox ${tenantId}`}, 0))`,
    request,
    async (holder) => {
      await holder.idempotencyKey.deleteMany({ where: { tenantId } });
      await holder.patient.deleteMany({ where: { tenantId, id: first.body.user_id } });
      await holder.tenant.updateMany({ where: { id: tenantId }, data: { clockOffsetMs } });
    },
  );
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body.user_id).not.toBe(first.body.user_id);
  expect(Date.parse(second.body.createdAt)).toBeGreaterThanOrEqual(harness.clock.now.getTime() + clockOffsetMs);
});

it('uploadPatientDocument answers 401 and adds no document if a reset removes the patient during the download', async () => {
  const patientId = await newPatient(harness, partner);
  const url = host.serve('/slow.pdf', (_request, response) => {
    void reset(harness, partner).then(() => response.end(sampleFiles.pdf));
  });
  const answer = await post(`/clients-documents/${patientId}/upload-url/lab-results`, { url });
  expectProblem(answer, 401, 'patient_access_denied');
  expect(await records()).toEqual(initialRecords);
});
