import { newPartner, newPatient } from '../support/factories.js';
import { call } from '../support/http.js';
import { refusal, openOperator } from './operator.js';
import { runAtTerminal } from './runProgram.js';

const { harness, environment, run, json } = await openOperator();
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner);

const db = () => harness.domain.db.prisma;
/** What the commands below would change. */
const state = async () => [
  (await db().tenant.findUniqueOrThrow({ where: { id: partner.tenantId } })).isActive,
  (await db().apiClient.findFirstOrThrow({ where: { clientId: partner.clientId } })).isActive,
  (await db().patient.findFirstOrThrow({ where: { tenantId: partner.tenantId, id: patientId } })).lastName !== 'erased',
];

const commands = (): readonly (readonly [string, ...string[]])[] => [
  ['tenant', 'deactivate', partner.tenantId],
  ['client', 'deactivate', partner.clientId],
  ['patient', 'erase', patientId, '--tenant', partner.tenantId],
];

describe('tenant deactivate, client deactivate and patient erase', () => {
  it('refuse to begin without a terminal and without --yes', async () => {
    for (const command of commands()) {
      const refused = /^This .*\. Confirm with --yes, or see the effect with --dry-run\.\n$/;
      expect(await run(...command)).toEqual(refusal(1, refused));
    }
    expect(await state()).toEqual([true, true, true]);
  });

  it('report their effect with --dry-run, change nothing, and are audited as dry runs', async () => {
    for (const command of commands()) {
      const stdout = expect.stringMatching(/^Dry run, rolled back: .*(no longer active|was erased)/);
      expect(await run(...command, '--dry-run')).toEqual({ code: 0, stdout, stderr: '' });
    }
    expect(await state()).toEqual([true, true, true]);
    const rows = await db().auditEvent.findMany({
      where: { tenantId: partner.tenantId, operationId: { endsWith: '--dry-run' } },
    });
    expect(rows.map(({ operationId, outcome }) => `${operationId} ${outcome}`).sort()).toEqual([
      ...[
        'client deactivate --dry-run success',
        'patient erase --dry-run success',
        'tenant deactivate --dry-run success',
      ],
    ]);
  });

  it('ask at a terminal, and begin only after a yes', async () => {
    const questions: string[] = [];
    const answering = (answer: string) => async (question: string) => (questions.push(question), answer);
    const erase = ['patient', 'erase', patientId, '--tenant', partner.tenantId];
    for (const answer of ['', 'n', 'yesterday']) {
      const refused = await runAtTerminal(environment, answering(answer), ...erase);
      expect(refused).toEqual(refusal(1, 'Nothing was changed.\n'));
    }
    expect(await state()).toEqual([true, true, true]);
    expect(await runAtTerminal(environment, answering('Y'), ...erase)).toMatchObject({ code: 0, stderr: '' });
    expect(await state()).toEqual([true, true, false]);
    const question = `This irreversibly anonymizes patient ${patientId} of ${partner.tenantId}. Continue? [y/N] `;
    expect(questions).toEqual(Array(4).fill(question));
  });
});

describe('client activate', () => {
  it('accepts the secret of the client again, but none of its earlier tokens', async () => {
    const { clientId, token } = await newPartner(harness);
    await json('client', 'deactivate', clientId, '--yes');
    expect(await json('client', 'activate', clientId)).toEqual({ clientId, isActive: true });
    expect(await json('client', 'list')).toContainEqual(
      expect.objectContaining({ clientId, isActive: true, tokensValidAfter: expect.any(String) }),
    );
    expect(await call(harness, 'GET /orders', { token })).toMatchObject({ status: 401 });
  });
});
