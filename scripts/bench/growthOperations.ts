import type { Context } from '../../src/context.js';
import { clearances } from '../../src/domain/approvals/clearance.js';
import { listRenewals } from '../../src/domain/approvals/renewals.js';
import { announceExpiredApprovals, announceExpiringApprovals } from '../../src/domain/sweeps/approvalNotices.js';
import { listClinics, type ClinicFilter } from '../../src/domain/catalog/clinics.js';
import { listProducts, type ProductFilter } from '../../src/domain/catalog/products.js';
import { expireDueEncounters, lapseDueClaims } from '../../src/domain/sweeps/encounterDeadlines.js';
import { listEncounters, type EncounterFilter } from '../../src/domain/encounters/list.js';
import { listReviewQueue } from '../../src/domain/reviews/queue.js';
import { readEvents } from '../../src/domain/webhooks/feed.js';
import { purgeEvents, purgeIdempotencyKeys } from '../../src/domain/sweeps/purges.js';
import { findPatients, getPatient } from '../../src/domain/patients/patients.js';

/** A measured operation. `prepare` runs before `work` and is not timed. */
export type GrowthOperation = readonly [name: string, work: () => Promise<unknown>, prepare?: () => Promise<unknown>];

/** The operations to measure: lists from first to last page, searches, look-ups and sweeps in a tenant of this size. */
export async function growthOperations(context: Context, rows: number): Promise<GrowthOperation[]> {
  const { db, caller } = context;
  const where = { tenantId: caller.tenantId };
  const order = { sort_by: 'name', sort_order: 'asc', limit: 100, page: 1 } as const;
  const clinics = (filter: Partial<ClinicFilter>) => () => listClinics(context, { ...order, ...filter });
  const products = (filter: Partial<ProductFilter>) => () => listProducts(context, { ...order, ...filter });
  const encounters = (filter: Partial<EncounterFilter>) => () => listEncounters(context, { limit: 100, ...filter });
  const [clinic, product, patient, encounter] = await Promise.all([
    db.prisma.clinic.findFirstOrThrow({ where, orderBy: { createdAt: 'asc' }, skip: rows / 2 }),
    db.prisma.product.findFirstOrThrow({ where, orderBy: { createdAt: 'asc' }, skip: rows / 2 }),
    db.prisma.patient.findFirstOrThrow({ where }),
    db.prisma.encounter.findFirstOrThrow({ where, orderBy: { createdAt: 'asc' }, skip: rows / 2 }),
  ]);
  const { clinicId, patientId, createdAt, encounterNo } = encounter;
  const productId = product.id;
  const renewals = { expiring_before: '2100-01-01', limit: 10 };
  const cursor = Buffer.from(`${createdAt.toISOString()} ${encounterNo}`).toString('base64url');
  const half = Buffer.from(`${caller.tenantId} ${rows / 2}`).toString('base64url');
  // Read pages at several depths, because an OFFSET costs more, the more rows it skips.
  const pages = [
    ['first page', 1],
    ['a quarter in', Math.ceil(rows / 400) - 1],
    ['half in', Math.ceil(rows / 200) - 1],
    ['last page', rows / 100],
  ] as const;
  const orders = [
    ['by name', {}],
    ['by update, latest first', { sort_by: 'updatedAt', sort_order: 'desc' }],
  ] as const;
  return [
    ...orders.flatMap(([how, sort]) =>
      pages.flatMap(([where, page]): GrowthOperation[] => [
        [`clinics ${how}, ${where}`, clinics({ ...sort, page })],
        [`products ${how}, ${where}`, products({ ...sort, page })],
      ]),
    ),
    ['clinics, active, first page', clinics({ isActive: true })],
    ['clinics, active, half in', clinics({ isActive: true, page: Math.ceil(rows / 200) - 1 })],
    ['clinics, not active, half in', clinics({ isActive: false, page: Math.ceil(rows / 2_000) })],
    ['clinics, rare state', clinics({ state: 'wy', limit: 20 })],
    ['clinics, state by name', clinics({ state: 'wyoming', limit: 20 })],
    ['clinics, rare state, search: in every name', clinics({ state: 'wy', search: 'clinic', limit: 20 })],
    [
      'clinics, search: words in any order',
      clinics({ search: `${clinic.email.slice(0, 6)} ${clinic.legalName.slice(1, 9)}` }),
    ],
    ['clinics, search: part of a name', clinics({ search: clinic.legalName.slice(1, 9) })],
    ['clinics, search: e-mail', clinics({ search: clinic.email })],
    ['clinics, search: two characters', clinics({ search: 'qq' })],
    ['clinics, search: in every name', clinics({ search: 'clinic' })],
    ['products, active, first page', products({ isActive: true })],
    ['products, active, half in', products({ isActive: true, page: Math.ceil(rows / 200) - 1 })],
    ['products, search: part of a name', products({ search: product.name.slice(1, 9) })],
    ['products, search: sku', products({ search: product.sku })],
    ['products, search: two characters', products({ search: 'qq' })],
    ['encounters, first page', encounters({})],
    ['encounters, half in', encounters({ cursor })],
    ['encounters of a state', encounters({ status: ['pending_review'], limit: 10 })],
    ['encounters of a clinic, one', encounters({ clinicId, limit: 1 })],
    ['encounters of a patient, one', encounters({ patientId, limit: 1 })],
    ['encounters of a patient and a clinic, one', encounters({ patientId, clinicId, limit: 1 })],
    ['clearance of a patient', () => clearances(context, patientId, { clinicId, treatmentIds: [productId] })],
    ['renewals, ten', () => listRenewals(context, renewals)],
    ['renewals of a clinic, ten', () => listRenewals(context, { ...renewals, clinicId })],
    ['review queue', () => listReviewQueue(context, { serviceQueue: 'provider_network', limit: 10 })],
    ['events, first page', () => readEvents(context, { limit: 100 })],
    ['events, half in', () => readEvents(context, { limit: 100, cursor: half })],
    ['events of a type, none', () => readEvents(context, { limit: 100, cursor: half, types: ['order.paid'] })],
    ['patient by e-mail', () => findPatients(context, { email: patient.email })],
    ['patient by id', () => getPatient(context, patient.id)],
    ['sweep: claims, none due', () => lapseDueClaims(context)],
    ['sweep: encounters, none due', () => expireDueEncounters(context)],
    ['sweep: gfe.expiring, none due', () => announceExpiringApprovals(context)],
    ['sweep: gfe.expired, none due', () => announceExpiredApprovals(context)],
    ['sweep: gfe.expired, 50 due', () => announceExpiredApprovals(context), () => makeDue(context)],
    ['purge of keys, none due', () => purgeIdempotencyKeys(context)],
    ['purge of events, none due', () => purgeEvents(context)],
  ];
}

/** Makes one batch of approvals due for announcement. They belong to the oldest encounters, half of which have one. */
function makeDue({ db, caller: { tenantId } }: Context): Promise<number> {
  return db.prisma.$executeRaw`
    UPDATE gfe_item SET expired_notified_at = NULL
    WHERE tenant_id = ${tenantId} AND expired_notified_at IS NOT NULL AND encounter_id IN (
      SELECT id FROM encounter WHERE tenant_id = ${tenantId} ORDER BY created_at LIMIT 100)`;
}
