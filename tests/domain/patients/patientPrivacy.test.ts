import { encounterBody, newClient, newPartner, patientBody } from '../../support/factories.js';
import { operations } from '../../support/contract.js';
import { sampleFiles } from '../../support/fileHost.js';
import { openHarnessWithHost } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';

const secrets = { insuranceInfo: 'InsuranceSecret 77', medicalHistory: 'HistorySecret 88' };
const guardian = { name: 'GuardianSecret', relation: 'mother', phone: '5125550199' };

/** The answers about the patient, by operation. */
const answers = new Map<string, Answer>();

const { harness, host: files } = await openHarnessWithHost();
const partner = await newPartner(harness);
const { token } = partner;
const ask = async (operationId: string, target: string, json?: unknown): Promise<Answer['body']> => {
  const answer = await call(harness, target, { token, json });
  answers.set(operationId, answer);
  return answer.body;
};
const json = patientBody({ email: 'private@example.com', ...secrets, guardian });
const { user_id: patientId } = await ask('createPatient', 'POST /clients', json);
await ask('createPatient again', 'POST /clients', json);
const wrong = { ...json, medicalHistory: [secrets.medicalHistory], phone: 1 };
await ask('createPatient wrongly', 'POST /clients', wrong);
await ask('findPatients', 'GET /clients?email=private@example.com');
await ask('getPatient', `GET /clients/${patientId}`);
const reader = await newClient(harness, partner.tenantId, ['read:client']);
answers.set('getPatient by a reader', await call(harness, `GET /clients/${patientId}`, { token: reader.token }));
const url = files.serve('/card.pdf', { content: sampleFiles.pdf });
const uploads = `POST /clients-documents/${patientId}/upload-url/id-card`;
const { documentId } = await ask('uploadPatientDocument', uploads, { url });
const encounter = { ...(await encounterBody(harness, partner)), patientId, documentIds: [documentId] };
const { encounter_id } = await ask('createEncounter', 'POST /encounters', encounter);
await ask('getEncounter', `GET /encounters/${encounter_id}`);
await ask('getEncounterStatus', 'POST /encounters/status', { encounter_id });

describe('insuranceInfo and medicalHistory', () => {
  it('are returned by getPatient only to callers with write:client, and by no operation that creates or finds a patient, uploads a document, or creates or retrieves an encounter', () => {
    // In the order of the requests above.
    const statuses = [...answers.values()].map(({ status }) => status);
    expect(statuses).toEqual([201, 409, 400, 200, 200, 200, 200, 201, 200, 200]);
    const { getPatient, ...others } = Object.fromEntries(answers);
    expect(getPatient?.body).toMatchObject({ ...secrets, guardian });
    for (const [operation, { text, headers }] of Object.entries(others)) {
      const whole = [operation, text, JSON.stringify([...headers])].join('\n');
      expect(whole).not.toMatch(/Secret|"(insuranceInfo|medicalHistory)":/);
    }
  });

  it('are in the contract of the responses of getChart and getPatient alone', () => {
    const showing = operations.filter(({ responses }) =>
      /"(insuranceInfo|medicalHistory)":/.test(JSON.stringify(Object.values(responses))),
    );
    expect(showing.map(({ operationId }) => operationId).sort()).toEqual(['getChart', 'getPatient']);
  });

  it('are absent from the log, like name, e-mail address, birth date and phone number of the patient', () => {
    expect(harness.logged.length).toBeGreaterThan(answers.size);
    expect(JSON.stringify(harness.logged)).not.toMatch(/Secret|private@|Miller|1990-06-30|5125550142/);
  });
});
