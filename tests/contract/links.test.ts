import { operationOf, operations, type ContractOperation } from '../support/contract.js';

interface Link {
  readonly operationId: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: Readonly<Record<string, unknown>>;
}

interface Linking {
  readonly links?: Readonly<Record<string, Link>>;
}

/** Every link, with the operation and status of its response. */
const links = operations.flatMap((operation) =>
  Object.entries(operation.responses).flatMap(([status, response]) =>
    Object.values((response as Linking).links ?? {}).map((link) => ({ operation, status, link })),
  ),
);

/** Values in the examples of a body at the JSON pointer of the expression, including null. */
function exampleValues(expression: string, { requestBody, responses }: ContractOperation, status: string): unknown[] {
  const [, part, pointer = ''] = /^\$(request|response)\.body#(\/.+)$/.exec(expression) ?? [];
  const content = (part === 'request' ? requestBody : responses[status])?.content ?? {};
  const examples = Object.values(Object.values(content)[0]?.examples ?? {});
  const at = (value: unknown): unknown =>
    pointer
      .slice(1)
      .split('/')
      .reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
  return examples.map(({ value }) => at(value)).filter((value) => value !== undefined);
}

it('each OpenAPI link names an existing operation and its inputs, and takes their values from existing members', () => {
  expect(links.length).toBeGreaterThan(10);
  for (const { operation, status, link } of links) {
    const target = operationOf(link.operationId);
    const { parameters = {}, requestBody = {} } = link;
    expect(target.parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(parameters)));
    const [body] = Object.values(target.requestBody?.content ?? {});
    const properties = Object.keys((body?.schema as { properties?: object } | undefined)?.properties ?? {});
    expect(properties).toEqual(expect.arrayContaining(Object.keys(requestBody)));
    for (const expression of [...Object.values(parameters), ...Object.values(requestBody)].flat()) {
      const values = exampleValues(String(expression), operation, status);
      expect([operation.operationId, expression, values.length > 0]).toEqual([operation.operationId, expression, true]);
    }
  }
});

it('OpenAPI links lead from each step of the encounter flow to the next', () => {
  const followed = new Set(links.map(({ operation, link }) => `${operation.operationId} → ${link.operationId}`));
  expect([...followed]).toEqual(
    expect.arrayContaining([
      'listClinics → createEncounter',
      'createPatient → findPatients',
      'createPatient → createEncounter',
      'findPatients → createEncounter',
      'listProducts → createEncounter',
      'uploadPatientDocument → createEncounter',
      'createEncounter → getEncounterStatus',
      'getEncounterStatus → getOrder',
    ]),
  );
});
