import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { permissions } from '../../src/domain/access/permissions.js';
import { operations as registered } from '../../src/operations/index.js';
import { oauthStatuses, problems } from '../../src/problem.js';
import { contract, operations } from '../support/contract.js';

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

describe('one name for each operation', () => {
  it('names no two operations alike', () => {
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has one file in src/operations for each, and registers it', () => {
    const shared = ['encounterChange', 'index', 'operation', 'withIdempotency'];
    expect(names('src/operations', '.ts').filter((name) => !shared.includes(name))).toEqual(ids);
    expect(Object.keys(registered).sort()).toEqual(ids);
  });

  it('has no tests of an operation that is gone', () => {
    expect(ids).toEqual(expect.arrayContaining(names('tests/operations', '.test.ts')));
  });

  it.each(operations)(
    '$operationId has tests with one block for each status that it declares',
    ({ operationId, statuses }) => {
      const file = join(root, 'tests/operations', `${operationId}.test.ts`);
      expect(existsSync(file)).toBe(true);
      expect(describesOf(file).sort()).toEqual(statuses.map(String).sort());
    },
  );
});

describe('the version', () => {
  it('is the same in the contract and in the example of its header, which the mock sends', () => {
    const examples = operations.flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ headers }) => headers?.['API-Version']?.example ?? []),
    );
    expect([...new Set(examples)]).toEqual([contract.info.version]);
  });
});

describe('statuses', () => {
  it.each(operations)('$operationId declares 403 exactly if it needs a token', ({ scopes, security, statuses }) => {
    // The compiler takes 403 for the sign of a secured operation (src/contract.ts): only these get a caller.
    expect(statuses.includes(403)).toBe(security.length > 0);
    // Several are alternatives, each of one permission.
    expect(scopes.length).toBe(security.length);
    expect(permissions).toEqual(expect.arrayContaining([...scopes]));
    if (security.length > 0) expect(statuses).toContain(401);
  });

  it.each(operations)('$operationId declares 400, and never 422, which the mock would prefer to it', ({ statuses }) => {
    expect(statuses).toContain(400);
    expect(statuses).not.toContain(422);
  });

  it.each(operations)('$operationId declares 413 if it has a body', ({ requestBody, statuses }) => {
    expect(statuses.includes(413)).toBe(requestBody !== undefined);
  });
});

describe('codes', () => {
  const vocabulary = (schema: string, property?: string): string[] => {
    const { [schema]: found } = contract.components.schemas;
    return [...((property ? found?.properties?.[property] : found)?.['x-extensible-enum'] ?? [])].sort();
  };
  const statusOf = new Map<unknown, number>([
    ...Object.entries(problems).map(([code, { status }]) => [code, status] as const),
    ...Object.entries(oauthStatuses),
  ]);
  // What is not a failure, such as the answer of an unready service, has no code.
  const failures = operations.flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, { content }]) =>
      Object.values(content ?? {})
        .flatMap(({ examples = {} }) => Object.entries(examples))
        .flatMap(([name, { value }]) => {
          const { code, error } = value as Record<string, unknown>;
          return code === undefined && error === undefined
            ? []
            : [{ status: Number(status), name, code: code ?? error }];
        }),
    ),
  );

  it('are the same in the contract and in the service', () => {
    expect(vocabulary('ProblemCode')).toEqual(Object.keys(problems).sort());
    expect(vocabulary('OAuthError', 'error')).toEqual(Object.keys(oauthStatuses).sort());
  });

  it('have an example each, named after them, apart from those that come before an operation', () => {
    const shown = new Set(failures.map(({ code }) => code));
    const before = ['route_not_found', 'method_not_allowed', 'request_timeout'];
    expect([...statusOf.keys()].filter((code) => !shown.has(code))).toEqual(before);
    expect(failures.filter(({ name, code }) => name !== code)).toEqual([]);
  });

  it('stand under the status that the service gives them', () => {
    expect(failures.filter(({ code, status }) => statusOf.get(code) !== status)).toEqual([]);
  });
});
