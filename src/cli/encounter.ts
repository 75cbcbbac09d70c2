import { Option, type Command } from '@commander-js/extra-typings';
import { listEncounters } from '../domain/encounters/list.js';
import { showEncounter, type ShownEncounter } from '../domain/encounters/lookup.js';
import { addGroup, addListCommand, addTenantCommand } from './command.js';
import { asCaller } from './operator.js';
import { fields, print, printList, uuidOr, wholeNumber } from './output.js';
import type { CliIo } from './cliIo.js';

const statuses = [
  ...(['pending_review', 'in_review', 'awaiting_information'] as const),
  ...(['completed', 'denied', 'cancelled', 'expired'] as const),
];

export function addEncounterCommands(program: Command, terminal: CliIo): void {
  const encounter = addGroup(program, 'encounter', 'encounters, without health data');

  const listing = 'list the newest encounters of a tenant';
  addListCommand(encounter, 'list', listing, ['--tenant lakeside --status pending_review'])
    .addOption(new Option('--status <status...>', 'encounters with one of these statuses').choices(statuses))
    .option('--patient-id <user-id>', 'encounters of this patient', uuidOr('Give the user_id of the patient.'))
    .option('--reference <text>', "encounters with this reference, the partner's own id")
    .action(async ({ tenant, json, ...filter }) => {
      const page = await asCaller(terminal, tenant, (context) => listEncounters(context, filter));
      printList(terminal, json, page, shown);
    });

  addTenantCommand(encounter, 'show', 'show an encounter', ['100123 --tenant lakeside'])
    .argument('<encounter-id>', 'encounter_id in the API', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .action(async (number, { tenant, json }) => {
      const found = await asCaller(terminal, tenant, (context) => showEncounter(context, BigInt(number)));
      const { gfeNo, reviewState, reference, updatedAt, reviewerRef } = found;
      const items = found.gfeItems.map(({ categoryName, status }) => ({ category: categoryName, status }));
      const more = { gfe: gfeNo, reviewState, reference, reviewer: reviewerRef, updated: updatedAt.toISOString() };
      const value = { ...shown(found), ...more };
      const told = items.map(({ category, status }) => `${category} (${status})`).join(', ');
      print(terminal, json, { ...value, items }, fields({ ...value, items: told }));
    });
}

const shown = (encounter: ShownEncounter) => ({
  encounter: Number(encounter.encounterNo),
  status: encounter.status,
  type: encounter.reviewType,
  patient: encounter.patientId,
  clinic: encounter.clinicId,
  order: encounter.order?.orderNo ?? null,
  created: encounter.createdAt.toISOString(),
});
