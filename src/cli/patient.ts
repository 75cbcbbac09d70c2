import { Option, type Command } from '@commander-js/extra-typings';
import { recordVerification } from '../domain/patients/verification.js';
import { Problem } from '../problem.js';
import { addGroup, addTenantCommand } from './command.js';
import { inTenant } from './operator.js';
import { print } from './output.js';
import { addPatientDataCommands, EXAMPLE, uuid } from './patientData.js';
import type { CliIo } from './cliIo.js';

const statuses = ['INVITED', 'VERIFIED', 'NOTVERIFIED'] as const;

export function addPatientCommands(program: Command, terminal: CliIo): void {
  const patient = addGroup(program, 'patient', 'the patients of a tenant');
  const description = 'record the result of an identity verification; INVITED again records a new invitation';
  addTenantCommand(patient, 'verify', description, [EXAMPLE])
    .argument('<user-id>', 'id of the patient', uuid)
    .addOption(new Option('--status <status>', 'the new status').choices(statuses).default('VERIFIED' as const))
    .action(async (userId, { tenant, status, json }) => {
      const { isVerified } = await inTenant(terminal, tenant, (transaction, id) =>
        recordVerification(transaction, id, userId, status),
      ).catch((error: unknown) => {
        const current = error instanceof Problem ? error.extra['current_status'] : undefined;
        if (current === undefined) throw error;
        throw new Error(`${userId} is ${current} and cannot become ${status}.`, { cause: error });
      });
      print(terminal, json, { userId, isVerified }, `${userId} is ${isVerified}.`);
    });
  addPatientDataCommands(patient, terminal);
}
