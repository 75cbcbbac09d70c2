import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const root = join(import.meta.dirname, '../..');
export const output = join(root, 'generated/docs');

/** The part of the dereferenced contract that the artifacts need. */
export interface Contract {
  readonly info: { readonly title: string; readonly summary: string; readonly version: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Response {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Content>>;
}

export interface Content {
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description: string;
  readonly schema: { readonly default?: unknown };
  readonly example: unknown;
}

export interface Placed extends Operation {
  readonly method: string;
  readonly path: string;
}

export const operationsOf = ({ paths }: Contract): Placed[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );

/** The workflows of openapi/arazzo.yaml. */
export interface Workflows {
  readonly workflows: readonly Workflow[];
}

export interface Workflow {
  readonly workflowId: string;
  readonly summary: string;
  readonly description: string;
  readonly inputs: { readonly properties: Readonly<Record<string, { readonly default?: string }>> };
  readonly steps: readonly Step[];
}

export interface Step {
  readonly stepId: string;
  readonly description: string;
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly value: unknown }[];
  readonly requestBody?: { readonly payload: unknown };
  readonly successCriteria: readonly { readonly condition: string }[];
  readonly outputs?: Readonly<Record<string, string>>;
}

export const readContract = async (): Promise<Contract> =>
  JSON.parse(await readFile(join(root, 'generated/dereferenced.json'), 'utf8')) as Contract;

/** Reads the workflows of openapi/arazzo.yaml, and writes them as JSON to generated/docs. */
export async function readWorkflows(): Promise<Workflows> {
  const bundled = join(output, 'arazzo.json');
  const program = join(root, 'node_modules/.bin/redocly');
  const bundle = ['bundle', 'openapi/arazzo.yaml', '--config', 'openapi/redocly.yaml', '--output', bundled];
  await promisify(execFile)(process.execPath, [program, ...bundle], { cwd: root });
  return JSON.parse(await readFile(bundled, 'utf8')) as Workflows;
}
