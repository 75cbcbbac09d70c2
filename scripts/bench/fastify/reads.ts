/** The measured reads. */
import { app, byId, date, object, paged, prisma, reads, refusal, uuid } from './app.js';

app.get<{ Params: { id: string } }>('/clients/:id', reads('read:client', byId), async ({ caller, params }) => {
  const id = { tenantId: caller.tenant_id, id: params.id };
  const patient = await prisma.patient.findUnique({ where: { tenantId_id: id } });
  if (!patient) throw refusal(404, 'The patient does not exist.');
  const { stateId } = patient;
  return { ...patient, state: stateId && (await prisma.refState.findUnique({ where: { id: stateId } })) };
});

const search = { querystring: object({ email: { type: 'string', format: 'email' } }, ['email']) };
app.get<{ Querystring: { email: string } }>('/clients', reads('read:client', search), ({ caller, query }) =>
  prisma.patient.findMany({ where: { tenantId: caller.tenant_id, emailKey: query.email.toLowerCase() } }),
);

const page = { querystring: object({ ...paged, page: { type: 'integer', minimum: 1, default: 1 } }) };
type Page = { Querystring: { limit: number; page: number } };
const sorted = [{ nameKey: 'asc' }, { createdAt: 'desc' }, { id: 'asc' }] as const;

app.get<Page>('/clinics', reads('admin:clinic', page), async ({ caller, query: { limit, page } }) => {
  const where = { tenantId: caller.tenant_id };
  const of = { where, include: { locations: true }, orderBy: [...sorted], take: limit, skip: (page - 1) * limit };
  const active = { ...where, isActive: true };
  const counts = [prisma.clinic.count({ where }), prisma.clinic.count({ where: active })] as const;
  const [data, total, activeCount] = await Promise.all([prisma.clinic.findMany(of), ...counts]);
  return { data, pagination: { total, page, limit }, stats: { total, active: activeCount } };
});

app.get<Page>('/tenants/products', reads('read:product', page), async ({ caller, query: { limit, page } }) => {
  const where = { tenantId: caller.tenant_id, isDeleted: false };
  const include = {
    ...{ category: true, subcategory: true, rx: true },
    ...{ offer: { include: { variants: true } }, availability: { include: { clinic: true } } },
  };
  const of = { where, include, orderBy: [...sorted], take: limit, skip: (page - 1) * limit };
  const [data, total] = await Promise.all([prisma.product.findMany(of), prisma.product.count({ where })]);
  return { data, pagination: { total, page, limit } };
});

const encounterStatus = object({ encounter_id: { type: 'integer' } }, ['encounter_id']);
app.post<{ Body: { encounter_id: number } }>(
  '/encounters/status',
  reads('read:encounter', { body: encounterStatus }),
  async ({ caller, body }) => {
    const id = { tenantId: caller.tenant_id, encounterNo: body.encounter_id };
    const include = { gfeItems: true, orders: true };
    const encounter = await prisma.encounter.findUnique({ where: { tenantId_encounterNo: id }, include });
    return encounter ?? Promise.reject(refusal(404, 'The encounter does not exist.'));
  },
);

/** The parts of an encounter that lists and creations show. */
export const parts = { treatments: true, documents: true, gfeItems: true, orders: true };
const byNumber = { params: object({ number: { type: 'integer' } }) };
app.get<{ Params: { number: number } }>(
  '/encounters/:number',
  reads('read:encounter', byNumber),
  async ({ caller, params }) => {
    const id = { tenantId: caller.tenant_id, encounterNo: params.number };
    const include = { ...parts, information: true, addenda: true };
    const encounter = await prisma.encounter.findUnique({ where: { tenantId_encounterNo: id }, include });
    return encounter ?? Promise.reject(refusal(404, 'The encounter does not exist.'));
  },
);

type Limited = { Querystring: { limit: number } };
const limited = { querystring: object(paged) };
app.get<Limited>('/encounters', reads('read:encounter', limited), async ({ caller, query: { limit } }) => {
  const found = await prisma.encounter.findMany({
    where: { tenantId: caller.tenant_id },
    include: parts,
    orderBy: [{ createdAt: 'desc' }, { encounterNo: 'desc' }],
    take: limit + 1,
  });
  return { data: found.slice(0, limit), has_more: found.length > limit };
});

const asked = object({ clinicId: uuid, treatmentIds: { type: 'array', items: uuid } }, ['clinicId', 'treatmentIds']);
app.get<{ Params: { id: string }; Querystring: { clinicId: string; treatmentIds: string[] } }>(
  '/clients/:id/clearances',
  reads('read:encounter', { ...byId, querystring: asked }),
  async ({ caller, params, query: { clinicId, treatmentIds } }) => {
    const { tenant_id: tenantId } = caller;
    const where = { tenantId, patientId: params.id, clinicId, productId: { in: treatmentIds } };
    const [patient, clinic, treatments, decisions, requests] = await Promise.all([
      prisma.patient.findUnique({ where: { tenantId_id: { tenantId, id: params.id } } }),
      prisma.clinic.findUnique({ where: { tenantId_id: { tenantId, id: clinicId } }, include: { locations: true } }),
      prisma.product.findMany({
        where: { tenantId, id: { in: treatmentIds } },
        include: { category: true, rx: true },
      }),
      prisma.encounterTreatment.findMany({
        where: { ...where, decidedAt: { not: null } },
        include: { encounter: true },
        orderBy: { decidedAt: 'desc' },
        distinct: 'productId',
      }),
      prisma.encounterTreatment.findMany({
        where: { ...where, encounter: { status: { in: ['pending_review', 'in_review', 'awaiting_information'] } } },
        include: { encounter: true },
        orderBy: { encounter: { encounterNo: 'desc' } },
        distinct: 'productId',
      }),
    ]);
    if (!patient || !clinic) throw refusal(404, 'The patient or clinic does not exist.');
    const latest = <Row extends { productId: string }>(rows: Row[], id: string) =>
      rows.find((row) => row.productId === id);
    const data = treatments.map(({ id, isActive }) => {
      const [decision, request] = [latest(decisions, id), latest(requests, id)];
      const isApproved = isActive && patient.accountIsActive && clinic.isActive && decision?.decision === 'approved';
      const until = decision?.validUntil ?? null;
      const cleared = isApproved && !decision.endedAt && (!until || until > new Date());
      const source = decision ?? request;
      return { id, cleared, pending: request !== undefined, validUntil: until, gfe_no: source?.encounter.gfeNo };
    });
    return { data };
  },
);

const renewals = { querystring: object({ ...paged, expiring_before: date }, ['expiring_before']) };
app.get<{ Querystring: { limit: number; expiring_before: string } }>(
  '/renewals',
  reads('read:encounter', renewals),
  async ({ caller, query: { limit, expiring_before } }) => {
    const ends = { gt: new Date(), lt: new Date(expiring_before) };
    const covered = { include: { product: { include: { category: true, rx: true } } } };
    const found = await prisma.gfeItem.findMany({
      where: { tenantId: caller.tenant_id, status: 'approved', validUntil: ends },
      include: {
        encounter: {
          include: {
            ...{ patient: true, clinic: { include: { locations: true } } },
            treatments: { where: { decision: 'approved', endedAt: null }, ...covered },
          },
        },
      },
      orderBy: [{ validUntil: 'asc' }, { id: 'asc' }],
      take: limit + 1,
    });
    return { data: found.slice(0, limit), has_more: found.length > limit };
  },
);

app.get<Limited>('/events', reads('read:event', limited), async ({ caller, query: { limit } }) => {
  const where = { tenantId: caller.tenant_id };
  const found = await prisma.event.findMany({ where, orderBy: { position: 'asc' }, take: limit + 1 });
  return { data: found.slice(0, limit), has_more: found.length > limit };
});
