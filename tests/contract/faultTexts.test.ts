import { exampleBody, operations, requiredHeaders, targetOf, type ContractOperation } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { openHarness } from '../support/openHarness.js';
import { call, type Answer } from '../support/http.js';
import { newSandbox } from '../support/sandbox.js';

// People read the detail of a refused request. Each case makes one mistake in the request of the contract's example.

const harness = await openHarness();
const { token } = await newSandbox(harness);

interface Case {
  readonly title: string;
  /** The member or parameter with the mistake, and what the detail says about it. */
  readonly name: string;
  readonly says: RegExp;
  send(): Promise<Answer>;
}

/** Words of the contract's machinery, which say nothing to people. */
const machinery = /match (pattern|format)|contract|schema|\\d|\[a-z/i;

function mistakes(operation: ContractOperation): Case[] {
  const { operationId, parameters, requestBody } = operation;
  const headers = requiredHeaders(operation);
  const { properties = {}, required = [] } = requestBody?.content['application/json']?.schema ?? {};
  const body = requestBody ? exampleBody(operation) : {};
  const json = (changed: object) => () => call(harness, targetOf(operation), { token, headers, json: changed });
  const inBody = Object.entries(properties).flatMap(([name, schema]): Case[] => {
    const title = `${operationId} ${name}`;
    const misspelled = { ...body, [`${name}s`]: body[name] ?? 'x' };
    return [
      {
        title: `${title} of another type`,
        name,
        says: /^must be /,
        send: json({ ...body, [name]: [schema.type].flat().includes('object') ? 'x' : { x: 1 } }),
      },
      ...((schema.pattern ?? schema.format)
        ? [
            {
              title: `${title} malformed`,
              name,
              says: /^must /,
              send: json({ ...body, [name]: '\u0000 ' }),
            },
          ]
        : []),
      ...(name.length > 3
        ? [
            {
              title: `${title} misspelled`,
              name: `${name}s`,
              says: new RegExp(`perhaps ${name} is meant`),
              send: json(misspelled),
            },
          ]
        : []),
      ...(required.includes(name)
        ? [{ title: `${title} missing`, name, says: /is required/, send: json({ ...body, [name]: undefined }) }]
        : []),
    ];
  });
  const inQuery = parameters.flatMap(({ name, in: place, schema }): Case[] => {
    if (place !== 'query' && !(place === 'path' && (schema.format !== undefined || schema.enum))) return [];
    if (schema.type === 'string' && !schema.pattern && !schema.format && !schema.enum) return [];
    const target = targetOf(operation, { [name]: '\u0000' }) as 'GET /';
    const given = requestBody ? { json: body } : {};
    return [
      {
        title: `${operationId} ${place} ${name}`,
        name,
        says: /^must /,
        send: () => call(harness, target, { token, headers, ...given }),
      },
    ];
  });
  return [...inBody, ...inQuery];
}

const cases = operations.filter(({ operationId }) => operationId !== 'issueToken').flatMap(mistakes);

it('the detail of each validation error names the member and the rule that it violates', async () => {
  expect(cases.length).toBeGreaterThan(110);
  await everyCase(
    cases,
    ({ title }) => title,
    async ({ name, says, send }) => {
      const { status, body } = await send();
      expect(status).toBe(400);
      expect(body.detail).not.toMatch(machinery);
      // A problem with a code of its own explains itself.
      if (body.code !== 'validation_failed') return;
      const [place, detail] = String(body.detail).split(': ');
      expect(place).toBe(name);
      expect(detail).toMatch(says);
    },
  );
});
