import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { permissions } from '../../src/domain/access/permissions.js';
import * as registered from '../../src/operations/index.js';
import type { ProblemCode } from '../../src/contract.js';
import { readGuide } from '../../scripts/artifacts/guide.js';
import { oauthStatuses, Problem, problems } from '../../src/problem.js';
import { cast } from '../support/cast.js';
import { contract, failureExamples, operations, type ContractOperation } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';

/**
 * Statuses that tests/contract covers for every operation: invalidRequests (400), security (401, 403), isolation (404), exampleErrors
 * (these, 409, 413, 429, 500 and 503). tests/domain/decisions shows what leads to a 409. A file of tests/operations repeats a status
 * only for a case that those lack.
 */
const enumerated = ['400', '401', '403', '404', '409', '413', '429', '500', '503'];

const nameOf = ({ operationId }: ContractOperation): string => operationId;
const root = join(import.meta.dirname, '../..');
const ids = operations.map(({ operationId }) => operationId).sort();
const names = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(ending))
    .map((file) => file.slice(0, -ending.length))
    .sort();

/** Titles of the outermost `describe`s of a test file. */
function describesOf(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (!ts.isExpressionStatement(statement) || !ts.isCallExpression(statement.expression)) return [];
    const {
      expression: called,
      arguments: [title],
    } = statement.expression;
    return called.getText(source) === 'describe' && title && ts.isStringLiteral(title) ? [title.text] : [];
  });
}

describe('the name of an operation', () => {
  it('is unique, has one file in src/operations and is registered', () => {
    expect(new Set(ids).size).toBe(ids.length);
    const shared = ['encounterChange', 'entityTag', 'index', 'operation', 'withIdempotency'];
    expect(names('src/operations', '.ts').filter((name) => !shared.includes(name))).toEqual(ids);
    expect(Object.keys(registered).sort()).toEqual(ids);
  });

  it('names one test file, with one block such as "getOrder 404" for each status that tests/contract does not cover', async () => {
    expect(ids).toEqual(expect.arrayContaining(names('tests/operations', '.test.ts')));
    await everyCase(operations, nameOf, ({ operationId, statuses }) => {
      const blocks = describesOf(join(root, 'tests/operations', `${operationId}.test.ts`)).map((title) =>
        title.replace(`${operationId} `, ''),
      );
      const declared = statuses.map(String);
      expect(declared).toEqual(expect.arrayContaining(blocks));
      expect(blocks).toEqual(expect.arrayContaining(declared.filter((status) => !enumerated.includes(status))));
      expect(new Set(blocks).size).toBe(blocks.length);
    });
  });
});

describe('statuses', () => {
  it('each have an example, except 204 and 304, which have no body', () =>
    everyCase(operations, nameOf, ({ responses }) => {
      const unshown = Object.entries(responses).filter(([, { content = {} }]) =>
        Object.values(content).every(({ examples = {} }) => Object.keys(examples).length === 0),
      );
      expect(unshown.filter(([status]) => !['204', '304'].includes(status))).toEqual([]);
    }));

  it('include 403 exactly at operations that need a token, 413 exactly at those with a body, 409 at those with a key, 400 everywhere and 422 nowhere', () =>
    everyCase(operations, nameOf, ({ scopes, security, statuses, requestBody, parameters }) => {
      // The types derive the caller of an operation from its 403 (src/contract.ts).
      expect(statuses.includes(403)).toBe(security.length > 0);
      // Several requirements are alternatives with one permission each.
      expect(scopes.length).toBe(security.length);
      expect(permissions).toEqual(expect.arrayContaining([...scopes]));
      if (security.length > 0) expect(statuses).toEqual(expect.arrayContaining([401, 429, 500, 503]));
      if (parameters.some(({ name }) => name === 'Idempotency-Key')) expect(statuses).toContain(409);
      expect(statuses.includes(413)).toBe(requestBody !== undefined);
      expect(statuses).toContain(400);
      // The mock would prefer 422 to 400.
      expect(statuses).not.toContain(422);
    }));
});

describe('codes', () => {
  const vocabulary = (schema: string, property?: string): string[] => {
    const { [schema]: declared } = contract.components.schemas;
    return [...((property ? declared?.properties?.[property] : declared)?.['x-extensible-enum'] ?? [])].sort();
  };
  const statusOf = new Map<unknown, number>([
    ...Object.entries(problems).map(([code, { status }]) => [code, status] as const),
    ...Object.entries(oauthStatuses),
  ]);
  it('are the same in the contract and in the service', () => {
    expect(vocabulary('ProblemCode')).toEqual(Object.keys(problems).sort());
    expect(vocabulary('OAuthError', 'error')).toEqual(Object.keys(oauthStatuses).sort());
  });

  it('each have a section in the guide, with the status that the service sends', async () => {
    const guide = await readGuide();
    const described = [...guide.matchAll(/^### (\w+)\n\n\*\*(\d+) \S/gm)].map(([, code, status]) => [code, status]);
    const known = Object.entries(problems).map(([code, { status }]) => [code, String(status)]);
    expect(described.sort()).toEqual(known.sort());
    // The reference would render a tag as HTML.
    expect(Object.values(problems).filter(({ detail }) => detail.includes('<'))).toEqual([]);
  });

  it('each have an example of their name and status, except those that occur outside of operations', () => {
    const shown = new Set<unknown>(failureExamples.map(({ code }) => code));
    const before = ['route_not_found', 'method_not_allowed'];
    expect([...statusOf.keys()].filter((code) => !shown.has(code))).toEqual(before);
    const isOther = ({ name, code, status }: (typeof failureExamples)[number]): boolean =>
      name !== code || statusOf.get(code) !== status;
    expect(failureExamples.filter(isOther)).toEqual([]);
  });

  it('have examples with the title and detail that the service sends', () => {
    const shown = failureExamples.filter(
      ({ mediaType, example }) => mediaType === 'application/json' && 'code' in example,
    );
    return everyCase(
      shown,
      ({ title }) => title,
      ({ name, example }) => {
        const { status, title } = Object(problems)[name];
        const { message: detail } = new Problem(example['code'] as ProblemCode, undefined, example);
        const { requestId: request_id } = cast;
        const request = { request_id, instance: `urn:uuid:${request_id}`, doc_url: `/docs#/section/errors/${name}` };
        const type = `urn:clinical-encounter:problem:${name}`;
        expect(example).toMatchObject({ type, code: name, status, title, detail, ...request });
      },
    );
  });
});
