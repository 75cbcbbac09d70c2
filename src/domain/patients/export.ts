import { Prisma, type Document } from '../../../generated/prisma/client.js';
import { findRows, groupedBy, type RowOf } from '../transactions/rows.js';
import type { DomainContext } from '../../context.js';

interface ExportedRow {
  readonly type: 'patient' | 'document' | 'encounter' | 'order' | 'event' | 'audit';
  readonly data: object;
}

export interface PatientExport {
  readonly rows: readonly ExportedRow[];
  readonly documents: readonly Document[];
  /** The number of documents that were withdrawn as those of another patient. */
  readonly omittedDocuments: number;
}

/**
 * All data stored about a patient, in one snapshot, and its audit, without the documents of other patients
 * . @throws Error for an unknown patient
 */
export function exportPatient({ db }: DomainContext, tenantId: string, patientId: string): Promise<PatientExport> {
  return db.snapshot(async (snapshot) => {
    const rowsOf = <Model extends Prisma.ModelName>(model: Model, where: Prisma.Sql) =>
      findRows(snapshot, tenantId, model, where);
    const ofPatient = Prisma.sql`patient_id = ${patientId}::uuid`;
    const patients = await rowsOf('Patient', Prisma.sql`id = ${patientId}::uuid`);
    if (patients.length === 0)
      throw new Error(`The tenant has no patient ${patientId}. Check the user_id and --tenant.`);
    const stored = await rowsOf('Document', Prisma.sql`${ofPatient} ORDER BY id`);
    const documents = stored.filter(({ withdrawalReason }) => withdrawalReason !== 'wrong_patient');
    const encounters = await encountersOf(rowsOf, ofPatient);
    const orders = await ordersOf(
      rowsOf,
      encounters.map(({ id }) => id),
    );
    const events = await snapshot.of(tenantId).rows<object>`
      SELECT id, type::text, data, timestamp FROM event
      WHERE tenant_id = ${tenantId} AND (data->>'user_id' = ${patientId} OR data->>'patientId' = ${patientId}
        OR data->>'encounter_id' = ANY (${encounters.map(({ encounterNo }) => String(encounterNo))}::text[]))
      ORDER BY position`;
    const audit = await snapshot.of(tenantId).rows<object>`
      SELECT position, at, client_id AS "clientId", operator, operation_id AS "operationId",
        resource_type AS "resourceType", resource_id AS "resourceId", status, code, request_id AS "requestId",
        host(ip) AS ip, outcome
      FROM audit_event WHERE tenant_id = ${tenantId} AND patient_ids @> ARRAY[${patientId}::uuid] ORDER BY position`;
    const found = {
      patient: patients,
      document: documents,
      encounter: encounters,
      order: orders,
      event: events,
      audit,
    } satisfies Record<ExportedRow['type'], readonly object[]>;
    const rows = Object.entries<readonly object[]>(found).flatMap(([type, list]) =>
      list.map((data) => ({ type: type as ExportedRow['type'], data })),
    );
    return { rows, documents, omittedDocuments: stored.length - documents.length };
  });
}

type RowsOf = <Model extends Prisma.ModelName>(model: Model, where: Prisma.Sql) => Promise<RowOf<Model>[]>;

async function encountersOf(rowsOf: RowsOf, ofPatient: Prisma.Sql) {
  const encounters = await rowsOf('Encounter', Prisma.sql`${ofPatient} ORDER BY encounter_no`);
  const where = Prisma.sql`encounter_id = ANY(${encounters.map(({ id }) => id)}::uuid[])`;
  const idOf = ({ encounterId }: { readonly encounterId: string }): string => encounterId;
  const treatments = groupedBy(await rowsOf('EncounterTreatment', where), idOf);
  const gfeItems = groupedBy(await rowsOf('GfeItem', where), idOf);
  const documents = groupedBy(await rowsOf('EncounterDocument', where), idOf);
  const information = groupedBy(await rowsOf('EncounterInformation', where), idOf);
  const addenda = groupedBy(await rowsOf('EncounterAddendum', where), idOf);
  return encounters.map((encounter) => ({
    ...encounter,
    treatments: treatments(encounter.id),
    gfeItems: gfeItems(encounter.id),
    documents: documents(encounter.id),
    information: information(encounter.id),
    addenda: addenda(encounter.id),
  }));
}

async function ordersOf(rowsOf: RowsOf, encounterIds: readonly string[]) {
  const ofEncounters = Prisma.sql`encounter_id = ANY(${encounterIds}::uuid[])`;
  const orders = await rowsOf('Order', Prisma.sql`${ofEncounters} ORDER BY order_sequence`);
  const where = Prisma.sql`order_id = ANY(${orders.map(({ id }) => id)}::uuid[])`;
  const idOf = ({ orderId }: { readonly orderId: string }): string => orderId;
  const lines = groupedBy(await rowsOf('OrderLine', where), idOf);
  const payments = groupedBy(await rowsOf('Payment', where), idOf);
  const refunds = groupedBy(await rowsOf('Refund', where), idOf);
  return orders.map((order) => ({
    ...order,
    lines: lines(order.id),
    payments: payments(order.id),
    refunds: refunds(order.id),
  }));
}
