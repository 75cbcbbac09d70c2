import { join } from 'node:path';
import ts from 'typescript';
import { eventSchemas, operations } from '../support/contract.js';

const folder = join(import.meta.dirname, '../../generated');
const source = join(folder, 'examples.ts');

/** One constant for each example of a request, of its type in generated/openapi.d.ts. */
const examples = operations.flatMap(({ operationId, requestBody }) =>
  Object.entries(requestBody?.content ?? {}).flatMap(([type, { examples: named = {} }]) =>
    Object.values(named).map(
      ({ value }) => `operations['${operationId}']['requestBody']['content']['${type}'] = ${JSON.stringify(value)};`,
    ),
  ),
);

/** One constant for each example of a webhook. */
const sent = Object.entries(eventSchemas).flatMap(([type, { examples: bodies = [] }]) =>
  bodies.map(
    (value) => `webhooks['${type}']['post']['requestBody']['content']['application/json'] = ${JSON.stringify(value)};`,
  ),
);

it('every example of a request and of a webhook compiles against the generated types', () => {
  const lines = [...examples, ...sent].map((line, index) => `export const _${index}: ${line}`);
  const text = ["import type { operations, webhooks } from './openapi.js';", ...lines].join('\n');
  const options = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es5.d.ts'],
    types: [],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
  };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile;
  host.getSourceFile = (name, ...rest) =>
    name === source ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2022) : read(name, ...rest);
  const program = ts.createProgram([source], options, host);
  const faults = ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ start = 0, messageText }) =>
        `${text.slice(start).split('\n')[0]}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  expect(Math.min(examples.length, sent.length)).toBeGreaterThan(20);
  expect(faults).toEqual([]);
});
