import type { Prisma } from '../../generated/prisma/client.js';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { permissions } from '../../src/domain/access/permissions.js';
import type { Permission } from '../../src/contract.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import type { Harness } from './harness.js';
import { call, type Answer, type CallOptions, type Server } from './http.js';

// Numbered names and keys are unique, so that a test names only the values it depends on.
let count = 0;
const next = (): number => (count += 1);

const timesOf = ({ now }: Harness['domain']) => ({ createdAt: now(), updatedAt: now() });

/** A tenant with an API client that holds a token. */
export interface Partner extends Credentials {
  readonly tenantId: string;
  readonly token: string;
}

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A new tenant with a client that holds every permission. */
export async function newPartner(harness: Harness, mode: 'live' | 'sandbox' = 'live'): Promise<Partner> {
  const { id } = await createTenant(harness.domain, {
    ...{ name: `Tenant ${next()}`, mode },
    requireLicensedProvider: false,
  });
  return newClient(harness, id);
}

/** A further client of a tenant, with a token. */
export async function newClient(
  harness: Harness,
  tenantId: string,
  granted: readonly Permission[] = permissions,
  clinics: readonly string[] = [],
): Promise<Partner> {
  const wanted = { tenant: tenantId, name: `Client ${next()}`, permissions: granted, clinics };
  const { clientId, clientSecret } = await createApiClient(harness.domain, wanted);
  return { tenantId, clientId, clientSecret, token: await newToken(harness, { clientId, clientSecret }) };
}

/** Gets an access token by client credentials. */
export async function newToken(server: Server, { clientId, clientSecret }: Credentials): Promise<string> {
  const json = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  return (await create(server, 'POST /oauth/token', { json }, 200)).access_token;
}

/** Sends a request; throws unless it gets this status. */
async function create(server: Server, target: string, options: CallOptions, expected = 201): Promise<Answer['body']> {
  const { status, body } = await call(server, target, options);
  if (status !== expected)
    throw new Error(
      `${target} answered ${status}, not ${expected}: correct the request, or read a refusal by call(): ${JSON.stringify(body)}`,
    );
  return body;
}

/** A body for POST /clients with a unique last name, e-mail and phone number: two of these patients are not possible duplicates. */
export function patientBody(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const number = next();
  return {
    firstName: 'Jane',
    lastName: `Miller ${number}`,
    email: `jane.${number}@example.com`,
    dateOfBirth: '1990-06-30',
    countryCode: '+1',
    phone: `512${String(number).padStart(7, '0')}`,
    ...changes,
  };
}

/** Creates a patient over HTTP; returns its `user_id`. */
export async function newPatient(harness: Harness, { token }: Partner, changes = {}): Promise<string> {
  return (await create(harness, 'POST /clients', { token, json: patientBody(changes) })).user_id;
}

/** Columns with other values. */
type Changes<Row> = Partial<Omit<Row, 'id' | 'tenantId'>>;

interface ClinicChanges extends Changes<Prisma.ClinicCreateManyInput> {
  /** One location for each, the first is primary. */
  readonly places?: readonly { readonly state: string; readonly timezone: string | null }[];
}

const address = { address1: '301 Congress Avenue', city: 'Austin', postal: '78701', country: 'US' };

/** A clinic, by default in Austin; returns its id. */
export async function newClinic(
  { domain }: Harness,
  { tenantId }: Partner,
  { places = [{ state: 'TX', timezone: 'America/Chicago' }], ...given }: ClinicChanges = {},
): Promise<string> {
  const number = next();
  const times = timesOf(domain);
  const { id } = await domain.db.prisma.clinic.create({
    data: {
      id: domain.newId(),
      tenantId,
      legalName: `Clinic ${number}, PLLC`,
      displayName: `Clinic ${number}`,
      email: `clinic.${number}@example.com`,
      isActive: true,
      ...times,
      ...given,
      locations: {
        createMany: {
          data: places.map((place, index) => ({
            id: domain.newId(),
            name: `Place ${index}`,
            ...address,
            ...place,
            isPrimary: index === 0,
            isActive: true,
            ...times,
          })),
        },
      },
    },
  });
  return id;
}

export interface ProductChanges extends Changes<Prisma.ProductCreateManyInput> {
  readonly price?: string;
  readonly shippingType?: 'FREE_SHIPPING' | 'FLAT_RATE';
  readonly shippingAmount?: string;
  readonly isRx?: boolean;
  /** Allow-list: clinic and whether its entry is active. */
  readonly availability?: readonly { readonly clinicId: string; readonly isActive: boolean }[];
}

/** A category with one subcategory. */
export async function newCategory({ domain }: Harness, { tenantId }: Partner) {
  const number = next();
  const times = timesOf(domain);
  const [categoryId, subcategoryId] = [domain.newId(), domain.newId()];
  await domain.db.prisma.category.create({
    data: {
      id: categoryId,
      tenantId,
      categoryName: `Category ${number}`,
      reviewOften: 'YEARLY',
      reviewRecurring: true,
      ...times,
      subcategories: { create: { id: subcategoryId, subCategoryName: `Subcategory ${number}`, ...times } },
    },
  });
  return { categoryId, subcategoryId };
}

/** A product; by default active, available everywhere and in a new category. */
export async function newProduct(harness: Harness, partner: Partner, changes: ProductChanges = {}): Promise<string> {
  const { domain } = harness;
  const {
    price = '240.00',
    shippingType = 'FLAT_RATE',
    shippingAmount = '15.00',
    isRx = false,
    availability = [],
    categoryId,
    subcategoryId,
    ...given
  } = changes;
  const group = categoryId && subcategoryId ? { categoryId, subcategoryId } : await newCategory(harness, partner);
  const number = next();
  const times = timesOf(domain);
  const { id } = await domain.db.prisma.product.create({
    data: {
      id: domain.newId(),
      tenantId: partner.tenantId,
      sku: `SKU-${number}`,
      name: `Product ${number}`,
      description: 'One session',
      unitPrice: price,
      isActive: true,
      pharmacyId: domain.newId(),
      pharmacyName: 'Lone Star Pharmacy',
      externalCode: `EXT-${number}`,
      ...times,
      ...given,
      ...group,
    },
  });
  const owned = () => ({ id: domain.newId(), tenantId: partner.tenantId, productId: id, ...times });
  const offer = { price, qty: 10, qtyAlert: 2, shippingType, shippingAmount, vendorCost: '1.00', cogs: '2.00' };
  await domain.db.prisma.productOffer.createMany({ data: { ...owned(), ...offer } });
  await domain.db.prisma.clinicAvailability.createMany({
    data: availability.map((entry) => ({ ...owned(), ...entry })),
  });
  if (isRx) await domain.db.prisma.productRx.create({ data: { ...owned(), ...rx(domain.newId()) } });
  return id;
}

/** The unit "Gram". */
const unit = '01a05c32-5e80-7000-8000-0000000003a2';

const rx = (reference: string) => ({
  refills: 2,
  rxQty: 1,
  daysSupply: 30,
  deaScheduleId: reference,
  quantityUnitOfMeasureId: unit,
  refrigerationTypeId: reference,
});

/** The required properties of POST /encounters. */
export interface EncounterBody {
  readonly clinicId: string;
  readonly patientId: string;
  readonly treatmentIds: readonly string[];
  readonly reviewType: string;
  readonly serviceQueue: string;
}

/** A complete address of delivery. */
export const shipTo = {
  name: 'Jane Miller',
  address1: '500 Congress Avenue',
  address2: 'Floor 12',
  city: 'Austin',
  state: 'TX',
  postal: '78701',
  country: 'US',
  phone: '+15125550142',
} as const;

/** Creates the records of an encounter; returns the body that creates it. */
export async function encounterBody(harness: Harness, partner: Partner): Promise<EncounterBody> {
  const records = [newClinic(harness, partner), newPatient(harness, partner), newProduct(harness, partner)] as const;
  const [clinicId, patientId, treatmentId] = await Promise.all(records);
  const treatmentIds = [treatmentId];
  return { clinicId, patientId, treatmentIds, reviewType: 'asynchronous', serviceQueue: 'provider_network' };
}

/** Required columns of a patient, except ids, e-mail and times. */
export const patientColumns = {
  firstName: 'Jane',
  lastName: 'Miller',
  dateOfBirth: new Date('1990-06-30'),
  phone: '5125550142',
  countryCode: '+1',
  isVerified: 'NOTVERIFIED',
  isHomeAddressSameAsShipping: true,
} as const;

/** Columns of a document about its file, which does not exist. */
export const missingFile = {
  storageProvider: 'file' as const,
  container: 'documents',
  blobPath: 'blood.pdf',
  contentType: 'application/pdf',
  sizeBytes: 1,
  checksum: '',
  fileName: 'blood.pdf',
  originalFilename: 'blood.pdf',
};

/** Inserts a document of a patient without its file; returns its id. */
export async function newDocument(
  { domain }: Harness,
  owner: Partner,
  patientId: string,
  docType = 'lab-results',
): Promise<string> {
  const { tenantId, clientId } = owner;
  const times = timesOf(domain);
  const { id: uploadedById } = await domain.db.prisma.apiClient.findFirstOrThrow({ where: { tenantId, clientId } });
  const id = domain.newId();
  await domain.db.prisma.document.createMany({
    data: { id, tenantId, patientId, docType, ...missingFile, uploadedById, ...times },
  });
  return id;
}

/** Creates an encounter with an address of delivery over HTTP; returns the record. */
export async function newEncounter(harness: Harness, partner: Partner, changes = {}): Promise<Answer['body']> {
  const json = { ...(await encounterBody(harness, partner)), shipTo, ...changes };
  return create(harness, 'POST /encounters', { token: partner.token, json });
}
