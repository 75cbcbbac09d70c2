import { Prisma } from '../../../generated/prisma/client.js';
import type { Database } from '../../../src/adapters/database/database.js';
import type { Statements } from '../../../src/adapters/database/statements.js';
import { newPartner, newPatient, patientBody, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';

/** The number of inserts that are made simultaneous; fewer than the connections of the pool. */
const MEETING = 4;

const harness = await openHarness({
  change: (services) => Object.assign(services, { db: meetingAtInsert(services.db) }),
});

/** The e-mail with some letters in capitals, differently for each number. */
const inMixedCase = (email: string, number: number): string =>
  Array.from(email, (letter, index) => ((number >> (index % 7)) & 1 ? letter.toUpperCase() : letter)).join('');

const createAtOnce = (count: number, email: string, { token }: Partner, target = harness): Promise<Answer[]> =>
  Promise.all(
    Array.from({ length: count }, (_, number) => {
      const json = patientBody({ email: inMixedCase(email, number), firstName: `P${number}` });
      return call(target, 'POST /clients', { token, json });
    }),
  );

const patientsOf = ({ tenantId }: Partner, { domain } = harness) =>
  domain.db.prisma.patient.findMany({ where: { tenantId } });
const withStatus = (answers: readonly Answer[], expected: number) =>
  answers.filter(({ status }) => status === expected);

describe('simultaneous createPatient requests', () => {
  it.each([40, 100])(
    '%i with one e-mail in mixed case create one patient; the others answer 409 with its id',
    async (count) => {
      const partner = await newPartner(harness);
      const answers = await createAtOnce(count, 'jane.miller@example.com', partner);
      const [created, ...more] = withStatus(answers, 201);
      expect(more).toEqual([]);
      const { user_id: id, firstName, email } = Object(created?.body);
      const conflicts = withStatus(answers, 409);
      expect(conflicts).toHaveLength(count - 1);
      for (const conflict of conflicts) {
        expectProblem(conflict, 409, 'patient_email_taken', [{ pointer: '#/email' }]);
        expect(conflict.body.existing_user_id).toBe(id);
      }
      expect(await patientsOf(partner)).toMatchObject([{ id, firstName, email }]);
    },
  );

  it('with one e-mail create one patient in each tenant', async () => {
    const partners = await Promise.all([newPartner(harness), newPartner(harness)]);
    const answers = await Promise.all(partners.map((partner) => createAtOnce(10, 'both@example.com', partner)));
    for (const [index, partner] of partners.entries()) {
      const created = withStatus(answers[index] ?? [], 201);
      expect(created).toHaveLength(1);
      expect(withStatus(answers[index] ?? [], 409)).toHaveLength(9);
      expect(await patientsOf(partner)).toMatchObject(created.map(({ body }) => ({ id: body.user_id })));
    }
  });

  it('with different e-mails create one patient each', async () => {
    const partner = await newPartner(harness);
    const ids = await Promise.all(Array.from({ length: 40 }, () => newPatient(harness, partner)));
    expect(new Set(ids).size).toBe(40);
    expect(await patientsOf(partner)).toHaveLength(40);
  });
});

/** Holds back the inserts of a tenant until MEETING requests have reached theirs, so that they are simultaneous. */
function meetingAtInsert(db: Database): Database {
  const held = new Map<string, (() => void)[]>();
  return beforeInsert(db, (tenantId) => {
    const others = held.get(tenantId) ?? [];
    held.set(tenantId, others);
    return new Promise<void>((proceed) => {
      others.push(proceed);
      if (others.length >= MEETING) others.forEach((proceed) => proceed());
    });
  });
}

/** Calls `act` before each statement that inserts a patient. */
function beforeInsert(db: Database, act: (tenantId: string, email: string) => Promise<void>): Database {
  const transaction: Database['transaction'] = (work) =>
    db.transaction((inside) => {
      const of: Database['of'] = (tenantId) => {
        const rows: Statements['rows'] = async (sql, ...values) => {
          const { text, values: sent } = 'raw' in sql ? Prisma.sql(sql, ...values) : sql;
          if (text.includes('INSERT INTO "client"')) {
            const [row, ...more] = [JSON.parse(String(sent[1]))].flat();
            if (!row || more.length > 0) throw new Error('not one patient');
            await act(tenantId, row.email);
          }
          return inside.of(tenantId).rows(sql, ...values);
        };
        return { ...inside.of(tenantId), rows };
      };
      return work({ ...inside, of });
    });
  return { ...db, transaction };
}
