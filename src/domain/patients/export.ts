import type { Document } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';

interface ExportedRow {
  readonly type: 'patient' | 'document' | 'encounter' | 'order' | 'event' | 'audit';
  readonly data: object;
}

export interface PatientExport {
  readonly rows: readonly ExportedRow[];
  readonly documents: readonly Document[];
  /** The number of documents withdrawn as `wrong_patient`. */
  readonly omittedDocuments: number;
}

/**
 * A patient's row, documents, encounters, orders and events, and the audit rows that name the patient, in one snapshot
 * without documents withdrawn as `wrong_patient`. @throws Error for an unknown patient
 */
export function exportPatient({ db }: DomainContext, tenantId: string, patientId: string): Promise<PatientExport> {
  return db.snapshot(async (snapshot) => {
    const { prisma } = snapshot;
    const ofTenant = { where: { tenantId } };
    const patient = await prisma.patient.findUnique({ where: { tenantId_id: { tenantId, id: patientId } } });
    if (!patient) throw new Error(`The tenant has no patient ${patientId}. Check the user_id and --tenant.`);
    const where = { tenantId, patientId };
    const stored = await prisma.document.findMany({ where, orderBy: { id: 'asc' } });
    const documents = stored.filter(({ withdrawalReason }) => withdrawalReason !== 'wrong_patient');
    const encounters = await prisma.encounter.findMany({
      where,
      include: {
        treatments: ofTenant,
        gfeItems: ofTenant,
        documents: ofTenant,
        information: ofTenant,
        addenda: ofTenant,
      },
      orderBy: { encounterNo: 'asc' },
    });
    const orders = await prisma.order.findMany({
      where: { tenantId, encounterId: { in: encounters.map(({ id }) => id) } },
      include: { lines: ofTenant, payments: ofTenant, refunds: ofTenant },
      orderBy: { orderSequence: 'asc' },
    });
    const events = await snapshot.of(tenantId).rows<object>`
      SELECT id, type::text, data, timestamp FROM event
      WHERE tenant_id = ${tenantId} AND (data->>'user_id' = ${patientId} OR data->>'patientId' = ${patientId}
        OR data->>'encounter_id' = ANY (${encounters.map(({ encounterNo }) => String(encounterNo))}::text[]))
      ORDER BY position`;
    const audit = await prisma.auditEvent.findMany({
      where: { tenantId, patientIds: { has: patientId } },
      omit: { tenantId: true, patientIds: true, reviewerRef: true },
      orderBy: { position: 'asc' },
    });
    const rowsOf = (type: ExportedRow['type'], list: readonly object[]) => list.map((data) => ({ type, data }));
    const rows = [
      ...rowsOf('patient', [patient]),
      ...rowsOf('document', documents),
      ...rowsOf('encounter', encounters),
      ...rowsOf('order', orders),
      ...rowsOf('event', events),
      ...rowsOf('audit', audit),
    ];
    return { rows, documents, omittedDocuments: stored.length - documents.length };
  });
}
