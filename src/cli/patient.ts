import { Option, type Command } from '@commander-js/extra-typings';
import { recordVerification } from '../domain/patients/verification.js';
import { Problem } from '../problem.js';
import { inTenant } from './operator.js';
import { example, print } from './output.js';
import { addPatientDataCommands, uuid } from './patientData.js';
import type { CliIo } from './cliIo.js';

const statuses = ['INVITED', 'VERIFIED', 'NOTVERIFIED'] as const;

/** Adds `patient verify|export|erase`. */
export function addPatientCommands(program: Command, terminal: CliIo): void {
  const patient = program.command('patient').description('the patients of a tenant').helpCommand(false);

  patient
    .command('verify')
    .description('record the result of an identity verification; INVITED again records a new invitation')
    .argument('<user-id>', 'id of the patient', uuid)
    .requiredOption('--tenant <tenant>', 'id or name of the tenant')
    .addOption(new Option('--status <status>', 'the new status').choices(statuses).default('VERIFIED' as const))
    .option('--json', 'print JSON')
    .addHelpText('after', example('patient verify 01a10caf-a4c0-7000-8000-00000000d001 --tenant lakeside'))
    .action(async (userId, { tenant, status, json }) => {
      const { isVerified } = await inTenant(terminal, tenant, (transaction, id) =>
        recordVerification(transaction, id, userId, status),
      ).catch((error: unknown) => {
        const current = error instanceof Problem ? error.extra['current_status'] : undefined;
        if (current === undefined) throw error;
        throw new Error(`${userId} is ${current} and cannot become ${status}.`, { cause: error });
      });
      print(terminal, json, { userId, isVerified }, () => `${userId} is ${isVerified}.`);
    });
  addPatientDataCommands(patient, terminal);
}
