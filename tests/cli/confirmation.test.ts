import { newPartner, newPatient } from '../support/factories.js';
import { call } from '../support/http.js';
import { refusal, openOperator } from './operator.js';
import { runAtTerminal } from './runProgram.js';

const { harness, environment, run, json } = await openOperator();
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner);

const db = () => harness.domain.db.prisma;
const isErased = async () =>
  (await db().patient.findFirstOrThrow({ where: { tenantId: partner.tenantId, id: patientId } })).lastName === 'erased';
const erase = ['patient', 'erase', patientId, '--tenant', partner.tenantId] as const;

describe('patient erase', () => {
  it('refuses to begin without a terminal and without --yes', async () => {
    expect(await run(...erase)).toEqual(
      refusal(1, /^This .*\. Nothing was changed: without a terminal, confirm with --yes\.\n$/),
    );
    expect(await isErased()).toBe(false);
  });

  it('asks at a terminal, and begins only after a yes', async () => {
    const questions: string[] = [];
    const answering = (answer: string) => async (question: string) => (questions.push(question), answer);
    for (const answer of ['', 'n', 'yesterday']) {
      const refused = await runAtTerminal(environment, answering(answer), ...erase);
      expect(refused).toEqual(refusal(1, 'Nothing was changed, because the answer was not y or yes.\n'));
    }
    expect(await isErased()).toBe(false);
    expect(await runAtTerminal(environment, answering('Y'), ...erase)).toMatchObject({ code: 0, stderr: '' });
    expect(await isErased()).toBe(true);
    const question = `This irreversibly anonymizes patient ${patientId} of ${partner.tenantId}. Continue? [y/N] `;
    expect(questions).toEqual(Array(4).fill(question));
  });
});

describe('client activate', () => {
  it('marks the client active again, and keeps its earlier tokens revoked', async () => {
    const { clientId, token } = await newPartner(harness);
    await json('client', 'deactivate', clientId);
    expect(await json('client', 'activate', clientId)).toEqual({ clientId, isActive: true });
    expect(await json('client', 'list')).toContainEqual(
      expect.objectContaining({ clientId, isActive: true, tokensValidAfter: expect.any(String) }),
    );
    expect(await call(harness, 'GET /orders', { token })).toMatchObject({ status: 401 });
  });
});
