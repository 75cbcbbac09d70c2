import type { Document } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';

/** A row that concerns a patient, and what it is. */
interface ExportedRow {
  readonly type: 'patient' | 'document' | 'encounter' | 'order' | 'event' | 'audit';
  readonly data: object;
}

/** Everything that is stored about one patient. */
export interface PatientExport {
  readonly rows: readonly ExportedRow[];
  /** Whose objects belong to it. */
  readonly documents: readonly Document[];
}

/** All that is stored about a patient as of one moment, and who saw it. @throws Error when there is none */
export function exportPatient({ db }: DomainContext, tenantId: string, patientId: string): Promise<PatientExport> {
  return db.$transaction(
    async (snapshot) => {
      const patient = await snapshot.patient.findUnique({ where: { tenantId_id: { tenantId, id: patientId } } });
      if (!patient) throw new Error(`The tenant has no patient ${patientId}.`);
      const where = { tenantId, patientId };
      const documents = await snapshot.document.findMany({ where, orderBy: { id: 'asc' } });
      const encounters = await snapshot.encounter.findMany({
        where,
        include: { treatments: true, gfeItems: true, documents: true, information: true, addenda: true },
        orderBy: { encounterNo: 'asc' },
      });
      const orders = await snapshot.order.findMany({
        where: { tenantId, encounter: where },
        include: { lines: true, payments: true, refunds: true, fulfilments: true },
        orderBy: { orderSequence: 'asc' },
      });
      const events = await snapshot.$queryRaw<object[]>`
        SELECT id, type::text, data, timestamp FROM event
        WHERE tenant_id = ${tenantId} AND (data->>'user_id' = ${patientId} OR data->>'patientId' = ${patientId}
          OR data->>'encounter_id' = ANY (${encounters.map(({ encounterNo }) => String(encounterNo))}::text[]))
        ORDER BY position`;
      const audit = await snapshot.$queryRaw<object[]>`
        SELECT position, at, client_id AS "clientId", operator, operation_id AS "operationId",
          resource_type AS "resourceType", resource_id AS "resourceId", status, code, request_id AS "requestId",
          host(ip) AS ip, outcome
        FROM audit_event WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid ORDER BY position`;
      const found = {
        patient: [patient],
        document: documents,
        encounter: encounters,
        order: orders,
        event: events,
        audit,
      } satisfies Record<ExportedRow['type'], readonly object[]>;
      const rows = Object.entries<readonly object[]>(found).flatMap(([type, list]) =>
        list.map((data) => ({ type: type as ExportedRow['type'], data })),
      );
      return { rows, documents };
    },
    { isolationLevel: 'RepeatableRead' },
  );
}
