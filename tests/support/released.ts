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

/** Every contract of generated/released. */
export const releasedContracts: readonly ReleasedContract[] = readdirSync(folder).map((name) => {
  const { pathname: path } = new URL(name, folder);
  const document = dereferenced(JSON.parse(readFileSync(path, 'utf8'))) as Document;
  return { version: document.info.version, path, operations: operationsOf(document) };
});
