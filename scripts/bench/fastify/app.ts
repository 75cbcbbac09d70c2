/** Fastify, Prisma, and how operations check their caller and leave their audit row. */
import { createHash, createPublicKey, generateKeyPairSync, randomUUID, type JsonWebKey } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import jwt from 'jsonwebtoken';
import { PrismaClient, type EventType, type Prisma } from '../../../generated/prisma/client.js';

/** The claims of an access token. */
interface Caller {
  readonly tenant_id: string;
  readonly client_id: string;
  readonly scope: string;
}
declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
}
export type Transaction = Prisma.TransactionClient;

const connection = { connectionString: process.env['DATABASE_URL'], application_name: 'bench-fastify', max: 10 };
export const prisma = new PrismaClient({
  adapter: new PrismaPg(connection),
  omit: { patient: { insuranceInfo: true, medicalHistory: true } },
});
const publicKey = createPublicKey({ key: JSON.parse(process.env['BENCH_KEY'] ?? '{}') as JsonWebKey, format: 'jwk' });
export const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const sha256 = (text: string) => createHash('sha256').update(text).digest();
export const refusal = (statusCode: number, message: string): Error =>
  Object.assign(new Error(message), { statusCode });
// JSON.stringify refuses a bigint.
Object.assign(BigInt.prototype, {
  toJSON(this: bigint) {
    return Number(this);
  },
});

// The keep-alive is that of the plain server.
export const app = Fastify({ logger: true, keepAliveTimeout: 600_000 });
app.decorateRequest('caller');

export const requires = (permission: string) => async (request: FastifyRequest) => {
  try {
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    request.caller = jwt.verify(token, publicKey, { algorithms: ['ES256'] }) as unknown as Caller;
  } catch {
    throw refusal(401, 'The token is not valid.');
  }
  if (!request.caller.scope.split(' ').includes(permission)) throw refusal(403, `The scope lacks ${permission}.`);
};

async function audit(tx: Transaction, { caller, method, routeOptions, ip }: FastifyRequest): Promise<void> {
  const { tenant_id: tenantId, client_id: clientId } = caller;
  const { position } = await tx.auditCounter.upsert({
    where: { tenantId },
    create: { tenantId, position: 1 },
    update: { position: { increment: 1 } },
  });
  const by = { tenantId, clientId, requestId: randomUUID(), ip };
  const done = { operationId: `${method} ${routeOptions.url}`, at: new Date(), status: 200, outcome: 'success' };
  await tx.auditEvent.create({ data: { position, ...by, ...done } });
}

export const auditRead = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
  if (reply.statusCode < 300) await prisma.$transaction((tx) => audit(tx, request));
};
export const reads = (permission: string, schema: object) => ({
  schema,
  preHandler: requires(permission),
  onSend: auditRead,
});

/** A record that was made, and its event. */
export interface Made {
  readonly answer: object;
  readonly clinicId: string | null;
  readonly data: Prisma.InputJsonObject;
}

/** Makes a record with its event, its audit row and, if the request has a key, its stored answer. */
export async function create(
  request: FastifyRequest,
  type: EventType,
  make: (tx: Transaction, apiClientId: string) => Promise<Made>,
): Promise<unknown> {
  const { tenant_id: tenantId, client_id: clientId } = request.caller;
  const { 'idempotency-key': key } = request.headers;
  const fingerprint = sha256(JSON.stringify(request.body));
  return prisma.$transaction(async (tx) => {
    const client = await tx.apiClient.findUniqueOrThrow({ where: { tenantId_clientId: { tenantId, clientId } } });
    const id = { tenantId, apiClientId: client.id, operationId: type, key: String(key) };
    const stored = key && (await tx.idempotencyKey.findUnique({ where: { tenantId_apiClientId_operationId_key: id } }));
    if (stored && !fingerprint.equals(stored.fingerprint))
      throw refusal(422, 'Another body was sent with this Idempotency-Key: send a new key.');
    if (stored) return stored.answer;
    const { answer, clinicId, data } = await make(tx, client.id);
    const { position } = await tx.eventCounter.upsert({
      where: { tenantId },
      create: { tenantId, position: 1 },
      update: { position: { increment: 1 } },
    });
    const timestamp = new Date();
    await tx.event.create({ data: { id: randomUUID(), tenantId, position, type, clinicId, data, timestamp } });
    if (key) {
      const result = JSON.parse(JSON.stringify(answer)) as Prisma.InputJsonObject;
      await tx.idempotencyKey.create({ data: { ...id, fingerprint: new Uint8Array(fingerprint), answer: result } });
    }
    await audit(tx, request);
    return answer;
  });
}

export const text = { type: 'string' };
export const uuid = { type: 'string', format: 'uuid' };
export const date = { type: 'string', format: 'date' };
export const paged = { limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 } };
export const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
});
export const byId = { params: object({ id: uuid }) };
