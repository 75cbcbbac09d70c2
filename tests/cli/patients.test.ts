import { newPartner, newPatient } from '../support/factories.js';
import { eventsUpTo } from '../support/events.js';
import { refusal, openOperator } from './operator.js';

const { harness, run, json } = await openOperator();
const partner = await newPartner(harness);

describe('patient verify', () => {
  it('records a status with its event and audit row, and refuses VERIFIED for a verified patient', async () => {
    const id = await newPatient(harness, partner);
    const verify = (...more: string[]) => ['patient', 'verify', id, '--tenant', partner.tenantId, ...more];
    const invited = await json(...verify('--status', 'INVITED'));
    expect(invited).toEqual({ userId: id, isVerified: 'INVITED' });
    expect(await run(...verify())).toEqual({ code: 0, stdout: `${id} is VERIFIED.\n`, stderr: '' });
    expect(await run(...verify())).toEqual(refusal(1, /VERIFIED/));
    const events = await eventsUpTo(harness, partner, 'patient.created');
    const updates = events.filter(({ type }) => type === 'patient.verification_updated');
    const expected = ['INVITED', 'VERIFIED'].map((isVerified) => ({ user_id: id, isVerified }));
    expect(updates.map(({ data }) => data)).toEqual(expected);
    const rows = await harness.domain.db.prisma.auditEvent.findMany({
      where: { tenantId: partner.tenantId, operationId: 'patient verify' },
    });
    expect(rows.map(({ outcome }) => outcome)).toEqual(['success', 'success', 'failed']);
    expect(rows.map(({ patientIds }) => patientIds)).toEqual([[id], [id], [id]]);
  });
});
