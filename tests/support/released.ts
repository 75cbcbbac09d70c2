import { readdirSync, readFileSync } from 'node:fs';
import { operationsOf, type ContractOperation, type Document } from './contract.js';
import { dereferenced } from './dereferenced.js';

/** A contract that partners were given. */
export interface ReleasedContract {
  readonly version: string;
  /** The file. */
  readonly path: string;
  readonly operations: readonly ContractOperation[];
}

const folder = new URL('../../generated/released/', import.meta.url);

const textOf = (path: string): string => readFileSync(new URL(path, folder), 'utf8');

/** Opaque texts that charts of the sandbox do not keep from release to release. */
const CHART_VERSION = /"chartVersion": "[^"]+"/g;
const [presentVersion = ''] = textOf('../openapi.json').match(CHART_VERSION) ?? [];

/** Every contract of generated/released, with the present `chartVersion` in its examples. */
export const releasedContracts: readonly ReleasedContract[] = readdirSync(folder).map((name) => {
  const { pathname: path } = new URL(name, folder);
  const document = dereferenced(JSON.parse(textOf(name).replaceAll(CHART_VERSION, presentVersion))) as Document;
  return { version: document.info.version, path, operations: operationsOf(document) };
});
