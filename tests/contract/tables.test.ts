import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Prisma } from '../../generated/prisma/client.js';
import { tableOf } from '../../src/domain/transactions/bulkSql.js';
import { floorOf, floors, roomOf } from '../support/floors.js';

/** The models of each room. Only it and rooms above name their tables, apart from reads of a patient's record. */
const rooms: Readonly<Record<string, readonly Prisma.ModelName[]>> = {
  sandbox: [],
  // Only src/adapters/jobs uses JobRun, but every model needs a room.
  sweeps: ['JobRun'],
  documents: ['Document'],
  reviews: [],
  encounters: [
    'Encounter',
    'EncounterTreatment',
    'EncounterDocument',
    'EncounterInformation',
    'EncounterAddendum',
    'GfeItem',
  ],
  orders: ['Order', 'OrderLine', 'Payment', 'Refund'],
  approvals: [],
  providers: ['Provider', 'ProviderLicense'],
  audit: ['AuditSeal', 'SandboxExchange'],
  webhooks: ['WebhookEndpoint', 'WebhookCursor', 'WebhookDelivery', 'WebhookInboxMessage', 'WebhookInbox'],
  patients: ['Patient'],
  catalog: [
    'Category',
    'Subcategory',
    'Product',
    'ProductRx',
    'ProductOffer',
    'OfferVariant',
    'ClinicAvailability',
    'RefState',
  ],
  events: [],
  // Clinics belong here because API clients are limited to some of them.
  access: ['Tenant', 'ApiClient', 'ApiClientSecret', 'Clinic', 'ClinicLocation', 'SigningKey'],
  // The last statement of a transaction writes these.
  transactions: ['Event', 'EventCounter', 'AuditCounter', 'AuditEvent', 'IdempotencyKey'],
};

const models = Object.values(Prisma.ModelName);
const schema = readFileSync('prisma/schema.prisma', 'utf8');
const ownerOf = (model: Prisma.ModelName) => Object.keys(rooms).find((room) => rooms[room]?.includes(model));

/** The models whose rows refer to a patient, directly or not: one record, which rooms from the patients' floor up read. */
const record = new Set<string>(['Patient']);
for (const _ of models) {
  for (const model of models) {
    const fields = new RegExp(`model ${model} \\{[^]*?\\n\\}`).exec(schema)?.[0] ?? '';
    const targets = [...fields.matchAll(/ (\w+)\?? +@relation\(.*fields:/g)].map(([, target = '']) => target);
    if (targets.some((target) => record.has(target))) record.add(model);
  }
}

interface Use {
  readonly model: Prisma.ModelName;
  readonly isWrite: boolean;
}

const byTable = new Map(models.map((model) => [tableOf(model), model]));
const byMember = new Map(models.map((model) => [model.charAt(0).toLowerCase() + model.slice(1), model]));
const byName = new Map(models.map((model) => [model as string, model]));

/** How code names a table: in SQL, as an argument of the functions that build statements, and by Prisma's models. */
const forms: readonly (readonly [pattern: RegExp, names: ReadonlyMap<string, Prisma.ModelName>, isWrite: boolean])[] = [
  [/\b(?:FROM|JOIN)\s+"?(\w+)/g, byTable, false],
  [/\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)/g, byTable, true],
  [/\b(?:findRows|fieldsOf|jsonOf|rowsOf)\([^;`]*?'(\w+)'/g, byName, false],
  [/\b(?:insertRows|updateRows)\([^;`]*?'(\w+)'/g, byName, true],
  [/\b(?:insertion|tenantInsertion)\([^;`]*?'(\w+)'/g, byTable, true],
  [/\b(?:prisma|tx)\.(\w+)\.(?:find|count|aggregate|groupBy)/g, byMember, false],
  [/\b(?:prisma|tx)\.(\w+)\.(?:create|update|upsert|delete)/g, byMember, true],
];

function usesIn(text: string): Use[] {
  return forms.flatMap(([pattern, names, isWrite]) =>
    [...text.matchAll(pattern)].flatMap(([, name = '']) => {
      const model = names.get(name);
      return model === undefined ? [] : [{ model, isWrite }];
    }),
  );
}

/** Whether code of a room may name a table: that of its own room, or of a floor below. */
function mayUse(room: string | undefined, { model, isWrite }: Use): boolean {
  const owner = ownerOf(model);
  const lowest = !isWrite && record.has(model) ? 'patients' : owner;
  return room === owner || room === lowest || floorOf(room) < floorOf(lowest);
}

const files = readdirSync('src/domain', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join('src/domain', file));

describe('tables', () => {
  it('have one room each', () => {
    expect(Object.values(rooms).flat().sort()).toEqual(models.toSorted());
    expect(Object.keys(rooms).sort()).toEqual(floors.flat().sort());
  });

  it('of a patient’s record are those of patients, documents, encounters and orders', () => {
    const { documents = [], encounters = [], orders = [], patients = [] } = rooms;
    expect([...record].sort()).toEqual([...documents, ...encounters, ...orders, ...patients].sort());
  });

  it('are named only in their own room and on floors above, and a patient’s record is read from the patients’ floor up', () => {
    const strays = files.flatMap((path) => {
      const room = roomOf(path);
      return usesIn(readFileSync(path, 'utf8'))
        .filter((use) => !mayUse(room, use))
        .map(({ model, isWrite }) => `${path} ${isWrite ? 'writes' : 'reads'} ${model}`);
    });
    expect(strays).toEqual([]);
  });

  it.each([
    ['patients', 'SELECT FROM webhook_endpoint'],
    ['approvals', 'UPDATE encounter SET'],
    ['access', 'SELECT FROM client'],
    ['catalog', "findRows(db, tenantId, 'Document', where)"],
    ['events', 'await db.prisma.patient.findMany('],
    ['reviews', "updateRows(db, tenantId, 'Document', data)"],
  ])('that a room may not name are noticed in %s: %s', (room, text) => {
    expect(usesIn(text).filter((use) => !mayUse(room, use))).toHaveLength(1);
  });
});
