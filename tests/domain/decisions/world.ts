import { Prisma } from '../../../generated/prisma/client.js';
import type { EncounterRecord } from '../../../src/domain/encounters/record.js';
import type { FoundParts } from '../../../src/domain/encounters/references.js';
import type { WithProvider } from '../../../src/domain/providers/licenses.js';
import type { Moment } from '../../../src/domain/transactions/changes.js';
import { Problem } from '../../../src/problem.js';

/** A treatment of the world's catalog. All treatments of one category are one item. */
export interface CatalogTreatment {
  readonly id: string;
  readonly category: string;
  readonly price: string;
  readonly shipping?: string;
  readonly rx?: { readonly refills: number; readonly deaScheduleId?: string } | null;
  readonly reviewOften?: string;
  readonly minAge?: number;
  readonly synchronousOnly?: boolean;
  readonly isActive?: boolean;
  /** Clinics that the catalog names for the treatment, and whether it is available there; none = all clinics. */
  readonly availability?: Readonly<Record<string, boolean>>;
  readonly pharmacyId?: string;
}

export type Caller = NonNullable<Moment['caller']>;

export const caller: Caller = {
  tenantId: 'lakeside',
  tenantMode: 'live',
  apiClientId: 'client',
  clientId: 'client',
  permissions: new Set(),
  allowedClinicIds: null,
  allowedPharmacyIds: null,
};

export const provider = {
  reviewerRef: 'ana',
  name: 'Ana Ruiz',
  npi: '1234567893',
  isActive: true,
  credential: 'MD',
  deaNumber: 'AR1234563',
  licenses: [{ state: 'TX', number: '4711', asynchronousAllowed: true, expiresOn: '2999-12-31' }],
} as const satisfies WithProvider['provider'];

export const pharmacyId = 'pharmacy';
export const shipTo = { name: 'Jane', address1: '1 Road', city: 'Austin', state: 'TX', postal: '78704', country: 'US' };
export const austin = { id: 'austin', isActive: true, timeZone: 'America/Chicago' };

/** A treatment of the catalog as a request finds it. */
export function offered({ id, category, price, shipping, rx = null, ...rules }: CatalogTreatment) {
  const { reviewOften = 'YEARLY', minAge = 0, synchronousOnly = false, isActive = true, availability = {} } = rules;
  const shippingType = shipping === undefined ? ('FREE_SHIPPING' as const) : ('FLAT_RATE' as const);
  return {
    ...{ id, sku: id, name: id, isActive, pharmacyName: 'Lone Star', minAge, synchronousOnly, rx: rx as never },
    ...{ pharmacyId: rules.pharmacyId ?? pharmacyId, categoryId: category, subcategoryId: `${category}-sub` },
    availability: Object.entries(availability).map(([clinicId, isHere]) => ({ clinicId, isActive: isHere })),
    category: { id: category, categoryName: category, reviewOften, reviewRecurring: true },
    subcategory: { id: `${category}-sub`, subCategoryName: category },
    offer: { price: new Prisma.Decimal(price), shippingType, shippingAmount: new Prisma.Decimal(shipping ?? 0) },
  } satisfies FoundParts['treatments'][number];
}

/** Whether an open encounter asks for a treatment. */
export const isRequested = (encounters: readonly EncounterRecord[], productId: string): boolean =>
  encounters.some(
    ({ status, treatments }) =>
      ['pending_review', 'in_review', 'awaiting_information'].includes(status) &&
      treatments.some((one) => one.productId === productId),
  );

/** The latest decision about a treatment. */
export function latestOf(encounters: readonly EncounterRecord[], productId: string) {
  const rows = encounters.flatMap((encounter) =>
    encounter.treatments
      .filter((one) => one.productId === productId && one.decidedAt !== null)
      .map((one) => ({ one, encounter })),
  );
  return rows.reverse().sort((a, b) => Number(b.one.decidedAt) - Number(a.one.decidedAt))[0];
}

/** The problem of a refusal; undefined if the work succeeds. */
export function problemOf(work: () => unknown): Problem | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  return undefined;
}

/** The code of a refusal; undefined if the work succeeds. */
export const codeOf = (work: () => unknown): string | undefined => problemOf(work)?.code;

/** The code of a refusal and the places of its errors. */
export function refusalOf(work: () => unknown): readonly (string | undefined)[] {
  const problem = problemOf(work);
  return [problem?.code, ...(problem?.errors.map(({ pointer }) => pointer) ?? [])];
}
