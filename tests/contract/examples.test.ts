import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rotateSigningKeys } from '../../src/adapters/signingKeys.js';
import { cast, completeEncounter, removeMaria, reopenEncounter, seedCast } from '../support/cast.js';
import {
  exampleBody,
  operationOf,
  operations,
  schemaFaults,
  targetOf,
  type ContractOperation,
} from '../support/contract.js';
import type { Partner } from '../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { withoutDatabase } from '../support/refusals.js';
import { asForm, login } from '../support/tokens.js';

// With the cast on stage, the examples of the contract are what the service really takes and gives.

type Body = Readonly<Record<string, unknown>>;

let harness: Harness;
let fileHost: FileHost;
let partner: Partner;
beforeAll(async () => {
  fileHost = await startFileHost();
  harness = await startHarness({ environment: { DOCUMENT_FETCH_ALLOWED_HOSTS: fileHost.host } });
  partner = await seedCast(harness);
});
afterAll(async () => {
  await fileHost.close();
  await harness.close();
});

/** What must be so before a request makes sense. */
const stages: Readonly<Record<string, () => Promise<void>>> = {
  createPatient: () => removeMaria(harness),
  'getEncounterStatus order_no': () => completeEncounter(harness),
};

/** What an example has only made up, made true. */
const truths: Readonly<Record<string, (body: Body) => Body | Promise<Body>>> = {
  'issueToken refresh_token': async (body) => ({
    ...body,
    refresh_token: (await login(harness, partner)).body.refresh_token,
  }),
  uploadPatientDocument: (body) => {
    const { pathname } = new URL(String(body['url']));
    return {
      ...body,
      url: fileHost.serve(pathname, { content: sampleFiles.pdf, headers: { 'Content-Type': 'application/pdf' } }),
    };
  },
};

/** An entry for this example, or for all of the operation. */
const entry = <T>(
  table: Readonly<Record<string, T>>,
  { operationId }: ContractOperation,
  name: string,
): T | undefined => table[`${operationId} ${name}`] ?? table[operationId];

async function sendExample(
  operation: ContractOperation,
  name: string,
  mediaType = 'application/json',
): Promise<Answer> {
  await entry(stages, operation, name)?.();
  const body = exampleBody(operation, name);
  const json = (await entry(truths, operation, name)?.(body)) ?? body;
  const sent = mediaType === 'application/json' ? { json } : asForm(json as Record<string, string>);
  return call(harness, targetOf(operation), { token: partner.token, ...sent });
}

const sendQuery = (operation: ContractOperation, changes: Body = {}): Promise<Answer> =>
  call(harness, targetOf(operation, changes), { token: partner.token });

const isSuccess = (status: string): boolean => Number(status) < 300;

describe('an example of a request succeeds', () => {
  const requests = operations.flatMap((operation) =>
    Object.entries(operation.requestBody?.content ?? {}).flatMap(([mediaType, { examples = {} }]) =>
      Object.keys(examples).map((name) => [operation.operationId, name, mediaType, operation] as const),
    ),
  );
  const queries = operations.filter(({ requestBody }) => requestBody === undefined);
  const successOf = ({ responses }: ContractOperation): number => Number(Object.keys(responses).find(isSuccess));

  it.each(requests)('%s: %s as %s', async (_id, name, mediaType, operation) => {
    const { status, text } = await sendExample(operation, name, mediaType);
    expect({ status, text }).toMatchObject({ status: successOf(operation) });
  });

  it.each(queries)('$operationId: its parameters', async (operation) => {
    const { status, text } = await sendQuery(operation);
    expect({ status, text }).toMatchObject({ status: successOf(operation) });
  });

  it('is there for every operation with a body', () => {
    const shown = new Set(requests.map(([operationId]) => operationId));
    expect([...shown].sort()).toEqual(
      operations
        .filter(({ requestBody }) => requestBody)
        .map(({ operationId }) => operationId)
        .sort(),
    );
  });
});

const none = {
  search: 'nothing of this name',
  isActive: undefined,
  state: undefined,
  categoryId: undefined,
  clinicId: undefined,
};
const bySku = (search: string): Body => ({ ...none, search });
const asAt = (time: string, send: () => Promise<Answer>) => async (): Promise<Answer> => {
  const { now } = harness.clock;
  harness.clock.now = new Date(`2026-11-20T${time}:00.000Z`);
  return send().finally(() => Object.assign(harness.clock, { now }));
};
const by = (operationId: string, name: string) => (): Promise<Answer> => sendExample(operationOf(operationId), name);
const ask = (operationId: string, changes?: Body) => (): Promise<Answer> =>
  sendQuery(operationOf(operationId), changes);

/** For each example of an answer that is no failure, the request that it answers. */
const occasions: Readonly<Record<string, () => Promise<Answer>>> = {
  'issueToken issued': by('issueToken', 'client_credentials'),
  'issueToken narrowed': by('issueToken', 'narrowed'),
  'listClinics found': ask('listClinics', { state: undefined }),
  'listClinics none': ask('listClinics', none),
  'createPatient created': by('createPatient', 'full'),
  'createPatient minimal': by('createPatient', 'minimal'),
  'findPatients found': ask('findPatients'),
  'findPatients none': ask('findPatients', { email: 'nobody@example.com' }),
  'getPatient verified': ask('getPatient'),
  'uploadPatientDocument stored': asAt('16:05', by('uploadPatientDocument', 'named')),
  'listProducts found': ask('listProducts', bySku('BTX')),
  'listProducts prescription': ask('listProducts', bySku('SEMA')),
  'listProducts limited_availability': ask('listProducts', bySku('LHR')),
  'listProducts none': ask('listProducts', none),
  'createEncounter scheduled': asAt('16:10', by('createEncounter', 'scheduled')),
  'createEncounter minimal': asAt('16:10', by('createEncounter', 'minimal')),
  'getEncounterStatus pending_review': () => reopenEncounter(harness).then(by('getEncounterStatus', 'gfe_no')),
  'getEncounterStatus approved': by('getEncounterStatus', 'order_no'),
  'getEncounter pending_review': () => reopenEncounter(harness).then(ask('getEncounter')),
  'getLiveness ok': ask('getLiveness'),
  'getReadiness ready': ask('getReadiness'),
  'getReadiness unavailable': () => withoutDatabase(harness, ask('getReadiness')),
  'getJwks two_keys': async () => {
    const { now, newId } = harness.domain;
    const { signingKeysFile: file, refreshTokenTtl: retireAfter } = harness.services.config;
    await rotateSigningKeys(file, { now: now(), newId, retireAfter, force: false });
    return ask('getJwks')();
  },
  'getAuthorizationServerMetadata metadata': ask('getAuthorizationServerMetadata'),
};

/** What is new in every answer, and the place of the storage. */
const minted: Readonly<Record<string, readonly string[]>> = {
  issueToken: ['access_token', 'refresh_token'],
  createPatient: ['user_id'],
  uploadPatientDocument: [
    'documentId',
    'id',
    'fileUrl',
    'storageProvider',
    'container',
    'blobPath',
    'sizeBytes',
    'checksum',
  ],
  createEncounter: ['id', 'encounter_id', 'gfe_no'],
  getJwks: ['x', 'y', 'kid'],
};

/** The value with its minted members reduced to their types. */
function reduced(value: unknown, names: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((one) => reduced(one, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      names.includes(name) ? typeof member : reduced(member, names),
    ]),
  );
}

const answers = operations.flatMap((operation) =>
  Object.entries(operation.responses).flatMap(([status, { content }]) =>
    Object.entries(content).flatMap(([mediaType, { schema, examples = {} }]) =>
      Object.entries(examples).map(([name, { value }]) => ({
        operationId: operation.operationId,
        status,
        mediaType,
        name,
        schema,
        value,
      })),
    ),
  ),
);

describe('an example of an answer', () => {
  it.each(answers)('keeps to its schema: $operationId $status $name as $mediaType', ({ schema, value }) => {
    expect(schemaFaults(schema, value)).toEqual([]);
  });

  const results = answers.filter(
    ({ status, value }) => isSuccess(status) || !('code' in Object(value) || 'error' in Object(value)),
  );

  it.each(results)(
    'is what the service answers: $operationId $status $name',
    async ({ operationId, status, name, value }) => {
      const { [`${operationId} ${name}`]: occasion } = occasions;
      if (!occasion) throw new Error(`no request is known that ${operationId} answers with the example ${name}`);
      const answer = await occasion();
      expect(answer.status).toBe(Number(status));
      const shown: unknown = JSON.parse(
        JSON.stringify(value).replaceAll('https://encounters.example.com', harness.baseUrl),
      );
      expect(reduced(answer.body, minted[operationId])).toEqual(reduced(shown, minted[operationId]));
    },
  );

  it('is of the same people in all of them', () => {
    const ids = new Set(JSON.stringify(answers.map(({ value }) => value)).match(/"user_id":"[^"]+"/g));
    expect([...ids].sort()).toEqual([`"user_id":"${cast.jane.id}"`, `"user_id":"${cast.maria.id}"`]);
  });
});
