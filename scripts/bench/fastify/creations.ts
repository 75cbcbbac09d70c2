/** The measured changes, and tokens. */
import { randomUUID, timingSafeEqual } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { Prisma } from '../../../generated/prisma/client.js';
import {
  app,
  auditRead,
  create,
  date,
  object,
  prisma,
  privateKey,
  refusal,
  requires,
  sha256,
  text,
  uuid,
  type Made,
  type Transaction,
} from './app.js';
import { parts } from './reads.js';

const credentials = object({ grant_type: { const: 'client_credentials' }, client_id: text, client_secret: text }, [
  ...['grant_type', 'client_id', 'client_secret'],
]);
app.post<{ Body: { client_id: string; client_secret: string } }>(
  '/oauth/token',
  { schema: { body: credentials }, onSend: auditRead },
  async (request) => {
    const { client_id: clientId, client_secret: secret } = request.body;
    const where = { clientId, isActive: true, tenant: { isActive: true } };
    const client = await prisma.apiClient.findFirst({ where, include: { secrets: true } });
    const hash = sha256(secret);
    if (!client?.secrets.some(({ secretHash }) => timingSafeEqual(secretHash, hash))) {
      throw refusal(401, 'The credentials are not valid.');
    }
    request.caller = { tenant_id: client.tenantId, client_id: clientId, scope: client.permissions.join(' ') };
    const sign = (typ: string, expiresIn: number): string =>
      jwt.sign(request.caller, privateKey, { header: { alg: 'ES256', typ }, expiresIn, jwtid: randomUUID() });
    const expiresIn = { access: 3_600, refresh: 86_400 };
    return {
      ...{ access_token: sign('at+jwt', expiresIn.access), token_type: 'Bearer', expires_in: expiresIn.access },
      ...{ refresh_token: sign('rt+jwt', expiresIn.refresh), refresh_token_expires_in: expiresIn.refresh },
    };
  },
);

type PatientBody = Record<'firstName' | 'lastName' | 'email' | 'dateOfBirth' | 'countryCode' | 'phone', string>;
const patientFields = {
  ...{ firstName: text, lastName: text, email: { type: 'string', format: 'email' }, dateOfBirth: date },
  ...{ countryCode: text, phone: { type: 'string', pattern: '^[0-9]{4,15}$' } },
};
app.post<{ Body: PatientBody }>(
  '/clients',
  { schema: { body: object(patientFields, Object.keys(patientFields)) }, preHandler: requires('write:client') },
  async (request, reply) => {
    const { tenant_id: tenantId } = request.caller;
    reply.code(201);
    return create(request, 'patient_created', async (tx, createdByApiClientId) => {
      const { dateOfBirth, ...given } = request.body;
      const at = new Date();
      const patient = await tx.patient.create({
        data: {
          ...{ ...given, id: randomUUID(), tenantId, createdByApiClientId, dateOfBirth: new Date(dateOfBirth) },
          ...{ isVerified: 'NOTVERIFIED', isHomeAddressSameAsShipping: true, createdAt: at, updatedAt: at },
        },
      });
      return { answer: patient, clinicId: null, data: { user_id: patient.id } };
    });
  },
);

interface EncounterBody {
  readonly clinicId: string;
  readonly patientId: string;
  readonly treatmentIds: readonly string[];
  readonly reviewType: 'synchronous' | 'asynchronous';
  readonly serviceQueue: 'provider_network';
}
const encounterFields = {
  ...{ clinicId: uuid, patientId: uuid, treatmentIds: { type: 'array', items: uuid, minItems: 1 } },
  ...{ reviewType: { enum: ['synchronous', 'asynchronous'] }, serviceQueue: { const: 'provider_network' } },
};
app.post<{ Body: EncounterBody }>(
  '/encounters',
  { schema: { body: object(encounterFields, Object.keys(encounterFields)) }, preHandler: requires('write:encounter') },
  async (request, reply) => {
    reply.code(201);
    return create(request, 'encounter_created', (tx) => createEncounter(tx, request.caller.tenant_id, request.body));
  },
);

async function createEncounter(tx: Transaction, tenantId: string, body: EncounterBody): Promise<Made> {
  const { clinicId, patientId, reviewType, serviceQueue } = body;
  const clinic = await tx.clinic.findUnique({ where: { tenantId_id: { tenantId, id: clinicId } } });
  const of = { where: { tenantId_id: { tenantId, id: patientId } }, include: { tenant: true } };
  const patient = await tx.patient.findUnique(of);
  const products = await tx.product.findMany({
    where: { tenantId, id: { in: [...body.treatmentIds] }, isActive: true, isDeleted: false },
    include: { category: true, subcategory: true, rx: true, offer: true, availability: true },
  });
  if (!clinic?.isActive || !patient?.accountIsActive || products.length < body.treatmentIds.length) {
    throw refusal(404, 'The clinic, the patient or a treatment does not exist, or is not active.');
  }
  const treatments = products.map(({ offer, availability, category, subcategory, rx, ...product }, position) => {
    const isAvailable = availability.length === 0 || availability.some((one) => one.clinicId === clinicId);
    if (!offer || !isAvailable) throw refusal(409, 'A treatment has no offer, or is not available at the clinic.');
    const { id: productId, sku, name, pharmacyId, pharmacyName, categoryId, subcategoryId } = product;
    const { price, shippingType, shippingAmount } = offer;
    const { categoryName, reviewOften, reviewRecurring } = category;
    const { subCategoryName } = subcategory;
    return {
      item: { categoryId, categoryName, subcategoryId, subCategoryName, reviewOften, reviewRecurring },
      treatment: {
        ...{ id: randomUUID(), productId, position, sku, name, price, shippingType, shippingAmount, pharmacyId },
        ...{ pharmacyName, categoryId, categoryName, subcategoryId, subCategoryName, patientId, clinicId },
        ...(rx && { rx: JSON.parse(JSON.stringify(rx)) as Prisma.InputJsonObject }),
      },
    };
  });
  const items = new Map(treatments.map(({ item }) => [`${item.categoryId} ${item.subcategoryId}`, item]));
  const sum = (amounts: readonly Prisma.Decimal[]) => Prisma.Decimal.sum(0, ...amounts);
  const subTotal = sum(treatments.map(({ treatment }) => treatment.price));
  const charged = treatments.filter(({ treatment }) => treatment.shippingType === 'FLAT_RATE');
  const totalShippingAmt = sum(charged.map(({ treatment }) => treatment.shippingAmount));
  const at = new Date();
  const encounter = await tx.encounter.create({
    data: {
      ...{ id: randomUUID(), tenantId, clinicId, patientId, status: 'pending_review', reviewType, serviceQueue },
      ...{ subTotal, totalShippingAmt, grandTotal: subTotal.add(totalShippingAmt), currency: patient.tenant.currency },
      ...{ claimableFrom: at, expiresAt: new Date(at.getTime() + 90 * 86_400_000), createdAt: at, updatedAt: at },
      treatments: { create: treatments.map(({ treatment }) => treatment) },
      gfeItems: {
        create: [...items.values()].map((item, position) => {
          return { ...item, id: randomUUID(), clinicId, position, status: 'pending_review' };
        }),
      },
    },
    include: parts,
  });
  const { id, encounterNo, gfeNo, status } = encounter;
  const data = { id, encounter_id: Number(encounterNo), gfe_no: gfeNo, status, reviewType, clinicId, patientId };
  return { answer: encounter, clinicId, data };
}
