import { getPatient, type PatientRecord } from '../patients/patients.js';
import { recordVerification, type Verification } from '../patients/verification.js';
import type { CallerContext } from '../transactions/transaction.js';
import { requireSandbox } from '../access/sandboxTenants.js';

/** Simulates a step of an identity verification. @throws Problem sandbox_only, patient_not_found, invalid_state */
export async function simulateVerification(
  context: CallerContext,
  id: string,
  status: Verification,
): Promise<PatientRecord> {
  requireSandbox(context);
  await getPatient(context, id);
  await recordVerification(context, context.caller.tenantId, id, status);
  return getPatient(context, id);
}
