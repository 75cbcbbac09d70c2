import { newPartner, patientBody } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';

const harness = await openHarness();

it('createPatient creates one patient for 100 simultaneous requests with one e-mail in mixed case, and answers 409 with its id to the others', async () => {
  const { token, tenantId } = await newPartner(harness);
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, number) => {
      const email = number % 2 === 0 ? 'jane.miller@example.com' : 'Jane.MILLER@example.com';
      return call(harness, 'POST /clients', { token, json: patientBody({ email, firstName: `P${number}` }) });
    }),
  );
  const [created, ...more] = answers.filter(({ status }) => status === 201);
  expect(more).toEqual([]);
  const { user_id: id, firstName, email } = created?.body ?? {};
  for (const conflict of answers.filter((answer) => answer !== created)) {
    expectProblem(conflict, 409, 'patient_email_taken', [{ pointer: '#/email' }]);
    expect(conflict.body.existing_user_id).toBe(id);
  }
  const stored = await harness.domain.db.prisma.patient.findMany({ where: { tenantId } });
  expect(stored).toMatchObject([{ id, firstName, email }]);
});
