import { Prisma } from '../../generated/prisma/client.js';
import type { Context } from '../context.js';
import type { Schemas } from '../contract.js';
import { Problem } from '../problem.js';
import { mayUseClinic } from './clinics.js';
import {
  loadParts,
  refuseRepeatedIds,
  requireFound,
  requireUsable,
  type FoundParts,
  type Treatment,
} from './encounterParts.js';
import { checkSchedule, resolveSchedule, type ResolvedSchedule } from './schedule.js';

type Body = Schemas['CreateEncounterRequest'];

const record = {
  treatments: { orderBy: { position: 'asc' } },
  documents: { orderBy: { position: 'asc' } },
  gfeItems: { orderBy: { position: 'asc' } },
  order: true,
} satisfies Prisma.EncounterInclude;

/** A stored encounter with everything that its views show. */
export type EncounterRecord = Prisma.EncounterGetPayload<{ include: typeof record }>;

/** An encounter that nobody reviewed is given up this long after it was created or was to take place. */
const EXPIRY_MS = 30 * 24 * 3_600_000;

/** A scheduled live visit may be claimed this long before it (domain rule "Encounter state machine"). */
const EARLY_CLAIM_MS = 15 * 60_000;

/**
 * Creates an encounter with a frozen copy of what was chosen (interface §4.7; checks in the order of domain rule
 * "createEncounter"). Later catalog changes do not touch it.
 * @throws Problem validation_failed, schedule_*, *_not_found, *_inactive, treatment_unavailable_at_clinic,
 * document_patient_mismatch
 */
export async function createEncounter(context: Context, body: Body): Promise<EncounterRecord> {
  refuseRepeatedIds(body);
  checkSchedule(body);
  const parts = await loadParts(context, body);
  const needsClinicZone = body.scheduledTime !== undefined && body.scheduledTimeZone === undefined;
  // A schedule without a zone has a meaning only at a clinic; without one "clinic not found" says more.
  if (needsClinicZone && !parts.clinic) requireFound(parts);
  const schedule = resolveSchedule(body, parts.clinic?.locations[0]?.timezone ?? null);
  const found = requireFound(parts);
  requireUsable(found);
  return context.db.encounter.create({ data: newEncounter(context, body, found, schedule), include: record });
}

/**
 * One encounter by its public number.
 * @throws Problem encounter_not_found, also for another tenant's; clinic_not_permitted (D-31)
 */
export async function getEncounter(context: Context, encounterNo: bigint): Promise<EncounterRecord> {
  const { tenantId } = context.caller;
  const where = { tenantId_encounterNo: { tenantId, encounterNo } };
  return permitted(context, await context.db.encounter.findUnique({ where, include: record }));
}

/**
 * The encounter that all given identifiers belong to (interface §4.8).
 * @throws Problem identifier_mismatch when they do not agree (D-32); encounter_not_found, also for another tenant's;
 * clinic_not_permitted (D-31)
 */
export async function findEncounter(
  context: Context,
  identifiers: Schemas['GetEncounterStatusRequest'],
): Promise<EncounterRecord> {
  const { tenantId } = context.caller;
  const { encounter_id, gfe_no, order_no } = identifiers;
  const orderNo = order_no?.toUpperCase();
  const wheres: Prisma.EncounterWhereInput[] = [
    ...(encounter_id === undefined ? [] : [{ encounterNo: BigInt(encounter_id) }]),
    ...(gfe_no === undefined ? [] : [{ gfeNo: gfe_no.toUpperCase() }]),
    ...(orderNo === undefined ? [] : [{ order: { is: { tenantId, orderNo } } }]),
  ];
  // One lookup by a unique index for each; a single query with OR would have to join all orders of the tenant.
  const [first = null, ...others] = await Promise.all(
    wheres.map((where) => context.db.encounter.findFirst({ where: { ...where, tenantId }, include: record })),
  );
  if (others.some((other) => other?.id !== first?.id)) throw new Problem('identifier_mismatch');
  return permitted(context, first);
}

function permitted(context: Context, encounter: EncounterRecord | null): EncounterRecord {
  if (!encounter) throw new Problem('encounter_not_found');
  if (!mayUseClinic(context, encounter.clinicId)) throw new Problem('clinic_not_permitted');
  return encounter;
}

function newEncounter(
  context: Context,
  body: Body,
  { clinic, patient, treatments, documents }: FoundParts,
  { scheduledAt, dayStartsAt }: ResolvedSchedule,
): Prisma.EncounterUncheckedCreateInput {
  const now = context.now();
  const lines = treatments.map((treatment, position) => treatmentLine(context, treatment, position));
  const planned = scheduledAt ?? dayStartsAt ?? now;
  return {
    id: context.newId(),
    tenantId: context.caller.tenantId,
    clinicId: clinic.id,
    patientId: patient.id,
    status: 'pending_review',
    reviewType: body.reviewType,
    serviceQueue: body.serviceQueue,
    additionalNotes: body.additionalNotes ?? null,
    scheduledDay: body.scheduledDay ?? null,
    scheduledTime: body.scheduledTime ?? null,
    scheduledTimeZone: body.scheduledTimeZone ?? null,
    scheduledAt,
    claimableFrom:
      body.reviewType === 'synchronous' && scheduledAt ? new Date(scheduledAt.getTime() - EARLY_CLAIM_MS) : now,
    ...estimate(lines),
    expiresAt: new Date(Math.max(now.getTime(), planned.getTime()) + EXPIRY_MS),
    createdAt: now,
    updatedAt: now,
    treatments: { createMany: { data: lines } },
    documents: { createMany: { data: documents.map(({ id }, position) => ({ documentId: id, position })) } },
    gfeItems: { createMany: { data: gfeItems(context, treatments) } },
  };
}

/** What the estimate and a later order are made of: name, price, shipping and pharmacy as they are now (D-36). */
function treatmentLine(context: Context, treatment: Treatment, position: number) {
  const { offer, category, subcategory } = treatment;
  if (!offer) throw new Error(`product ${treatment.id} has no offer`);
  return {
    id: context.newId(),
    productId: treatment.id,
    position,
    sku: treatment.sku,
    name: treatment.name,
    price: offer.price,
    shippingType: offer.shippingType,
    shippingAmount: offer.shippingAmount,
    pharmacyId: treatment.pharmacyId,
    pharmacyName: treatment.pharmacyName,
    categoryId: category.id,
    categoryName: category.categoryName,
    subcategoryId: subcategory.id,
    subCategoryName: subcategory.subCategoryName,
  };
}

type Line = ReturnType<typeof treatmentLine>;

/** Exact decimals, one unit of each (D-37); FREE_SHIPPING ignores the shipping amount. */
function estimate(lines: readonly Line[]): Pick<EncounterRecord, 'subTotal' | 'totalShippingAmt' | 'grandTotal'> {
  const zero = new Prisma.Decimal(0);
  const subTotal = lines.reduce((sum, { price }) => sum.plus(price), zero);
  const totalShippingAmt = lines
    .filter(({ shippingType }) => shippingType === 'FLAT_RATE')
    .reduce((sum, { shippingAmount }) => sum.plus(shippingAmount), zero);
  return { subTotal, totalShippingAmt, grandTotal: subTotal.plus(totalShippingAmt) };
}

/** One item for each distinct (category, subcategory), in the order of the treatments. */
function gfeItems(context: Context, treatments: readonly Treatment[]): Prisma.GfeItemCreateManyEncounterInput[] {
  const firsts = treatments.filter(
    ({ categoryId, subcategoryId }, index) =>
      treatments.findIndex((t) => t.categoryId === categoryId && t.subcategoryId === subcategoryId) === index,
  );
  return firsts.map(({ category, subcategory }, position) => ({
    id: context.newId(),
    position,
    categoryId: category.id,
    categoryName: category.categoryName,
    subcategoryId: subcategory.id,
    subCategoryName: subcategory.subCategoryName,
    reviewOften: category.reviewOften,
    reviewRecurring: category.reviewRecurring,
    status: 'pending_review',
  }));
}
