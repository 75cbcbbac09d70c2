import type { AuditRow, Services } from '../../../src/context.js';
import { Problem } from '../../../src/problem.js';
import { newPartner, newPatient, patientBody } from '../../support/factories.js';
import { call, type Answer } from '../../support/http.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { expectProblem, withoutTable } from '../../support/refusals.js';
import { loginBody } from '../../support/tokens.js';

/** While set, PostgreSQL's answer to the commit of the next audit row is lost. */
let losesAnswer = false;
const losing = (services: Services): Services => {
  const { recordAudit } = services;
  return Object.assign(services, {
    recordAudit: async (row: AuditRow) => {
      await recordAudit(row);
      if (!losesAnswer) return;
      losesAnswer = false;
      throw new Problem('dependency_unavailable');
    },
  });
};
const { harness, observer } = await openObservedHarness({ change: losing });
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner);

/** A read, an invalid request, a token request and a change. */
function requests(): Promise<Answer[]> {
  const { token } = partner;
  return Promise.all([
    call(harness, `GET /clients/${patientId}`, { token }),
    call(harness, 'GET /clients/unknown', { token }),
    call(harness, 'POST /oauth/token', { json: loginBody(partner) }),
    call(harness, 'POST /clients', { token, json: patientBody({ email: 'unrecorded@example.com' }) }),
  ]);
}

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status);

/** Asserts that no response has data and that no patient was created. */
async function expectNothingSent(answers: readonly Answer[]): Promise<void> {
  for (const answer of answers) {
    expectProblem(answer, 503, 'dependency_unavailable');
    expect(answer.headers.get('Retry-After')).toBe('5');
    expect(answer.text).not.toContain(patientId);
  }
  const where = { tenantId: partner.tenantId, email: 'unrecorded@example.com' };
  expect(await harness.domain.db.prisma.patient.count({ where })).toBe(0);
}

it('reads, invalid requests, token requests and changes answer 503 without data or effect while the audit table is missing or locked, and recover', async () => {
  await expectNothingSent(await withoutTable(harness, 'audit_event', requests));

  await observer.query('BEGIN; LOCK TABLE audit_event');
  const answers = await requests();
  await observer.query('ROLLBACK');
  await expectNothingSent(answers);
  expect(statuses(await requests())).toEqual([200, 400, 200, 201]);
});

it('a read is 503 and has one audit row if that is committed but the answer of PostgreSQL is lost', async () => {
  const { token, tenantId } = partner;
  losesAnswer = true;
  const answer = await call(harness, `GET /clients/${patientId}`, { token });
  expectProblem(answer, 503, 'dependency_unavailable');
  // Its row is committed after all earlier ones.
  await call(harness, `GET /clients/${patientId}`, { token });
  const where = { tenantId, requestId: answer.headers.get('X-Request-Id') };
  expect(await harness.domain.db.prisma.auditEvent.findMany({ where })).toMatchObject([{ status: 200 }]);
});
