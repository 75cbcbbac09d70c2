import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { requests } from '../../generated/client/values.js';
import type { Client, Order } from '../../src/client/index.js';
import { packageRoot } from '../../src/packageRoot.js';
import { operations } from '../support/contract.js';

/** Names of calls, which a change to a tag would rename. */
const known = {
  createEncounter: 'encounters.create',
  listEncounters: 'encounters.list',
  getEncounterStatus: 'encounters.getStatus',
  getReviewOptions: 'encounters.getReviewOptions',
  uploadPatientDocument: 'documents.uploadPatientDocument',
  retryWebhookDelivery: 'webhooks.retryDelivery',
  submitReview: 'reviews.submit',
  resetSandbox: 'sandbox.reset',
};

const file = fileURLToPath(new URL('src/client/client.ts', packageRoot));

/** The texts that an editor shows at each call of the client by name. */
function shownTexts(): Record<string, string> {
  const nodeNext = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const program = ts.createProgram([file], { ...nodeNext, strict: true, target: ts.ScriptTarget.ES2022, types: [] });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const symbol = source && checker.getSymbolAtLocation(source);
  const client = symbol && checker.getExportsOfModule(symbol).find(({ name }) => name === 'Client');
  const resources = client ? checker.getDeclaredTypeOfSymbol(client).getProperties() : [];
  const texts = resources.flatMap((resource) =>
    checker
      .getTypeOfSymbol(resource)
      .getProperties()
      .map((call) => [`${resource.name}.${call.name}`, ts.displayPartsToString(call.getDocumentationComment(checker))]),
  );
  return Object.fromEntries(texts) as Record<string, string>;
}

it('each operation is one method of one resource of the client, and editors show its summary and description, and a text for findOrCreate', () => {
  const names = Object.entries(requests).flatMap(([resource, named]) =>
    Object.entries(named).map(([name, request]): [string, string] => [request, `${resource}.${name}`]),
  );
  const nameOf = new Map(names);
  const named = operations.map(({ method, path, ...operation }) => ({
    ...operation,
    name: nameOf.get(`${method} ${path}`) ?? 'none',
  }));
  expect(names).toHaveLength(operations.length);
  expect(Object.fromEntries(named.map(({ operationId, name }) => [operationId, name]))).toMatchObject(known);
  const texts = named.map(({ name, summary, description }) => [name, `${summary}\n\n${description}`]);
  const { 'patients.findOrCreate': composed, ...shown } = shownTexts();
  expect(shown).toEqual(Object.fromEntries(texts));
  expect(composed).toContain('Creates a patient, or returns the patient');
});

it('the compiler rejects wrong method names, parameters and bodies in calls of the client, and knows the elements of lists', () => {
  const check = async (ces: Client): Promise<void> => {
    // @ts-expect-error there is no such operation
    await ces.encounters.remove();
    // @ts-expect-error encounter_id is missing
    await ces.encounters.get();
    // @ts-expect-error there is no such parameter
    await ces.encounters.get({ encounter_id: 1, gfe: 1 });
    // @ts-expect-error the body lacks required members
    await ces.encounters.create({ body: { reviewType: 'asynchronous' } });
    // @ts-expect-error a record is not a list
    await ces.encounters.get({ encounter_id: 1 }).next();
    for await (const { status } of ces.encounters.list()) status satisfies string;
    const endpoint_id = 'c3d54d4c-2d3b-4d1c-8f5a-1f2e3d4c5b6a';
    for await (const delivery of ces.webhooks.listDeliveries({ endpoint_id, limit: 5 })) {
      delivery.status satisfies string;
    }
    for await (const page of ces.pages('/orders')) page satisfies { data: Order[]; next_cursor: string | null };
    // @ts-expect-error there is no such parameter
    ces.clinics.list({ serch: 'north' });
    // @ts-expect-error endpoint_id is missing
    ces.pages('/webhook-endpoints/{endpoint_id}/deliveries');
    // @ts-expect-error a single record is not a list
    ces.pages('/clients/{id}');
    (await ces.encounters.getCertificate({ encounter_id: 1 })) satisfies Uint8Array;
  };
  expect(check).toBeInstanceOf(Function);
});
