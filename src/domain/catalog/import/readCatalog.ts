import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { isTimeZone } from '../timeZone.js';
import { catalogSchema, type Catalog } from './catalogSchema.js';
import { escaped, parseJson, type JsonDocument, type JsonFault } from './jsonDocument.js';

export interface ValidFile<Content> {
  readonly value: Content;
  readonly document: JsonDocument;
}

/** Reads a catalog file and checks it without the database. */
export function readCatalog(text: string): ValidFile<Catalog> | FaultyFile {
  return readFile(text, (compiled ??= fileValidator<Catalog>(catalogSchema)));
}

let compiled: ValidateFunction<Catalog> | undefined;

export interface Faults {
  readonly faults: readonly JsonFault[];
}

/** A file with faults; the document, if the file is JSON, has its value with the defaults of the schema. */
export interface FaultyFile extends Faults {
  readonly document?: JsonDocument;
}

export function readFile<T>(text: string, valid: ValidateFunction<T>): ValidFile<T> | FaultyFile {
  const document = parseJson(text);
  if ('message' in document) return { faults: [document] };
  const { value } = document;
  return valid(value)
    ? { value, document }
    : { faults: inFileOrder(schemaFaults(document, valid.errors ?? [])), document };
}

export function inFileOrder(faults: readonly JsonFault[]): JsonFault[] {
  return faults.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

export function fileValidator<T>(schema: object): ValidateFunction<T> {
  const options = { allErrors: true, verbose: true, useDefaults: true, allowUnionTypes: true, strictTypes: false };
  const ajv = new Ajv2020(options);
  addFormats.default(ajv, ['uuid', 'email', 'uri', 'date']);
  ajv.addFormat('time-zone', isTimeZone);
  return ajv.compile<T>(schema);
}

/** The faults that the schema finds. Keywords that give a value the same message count as one fault. */
function schemaFaults(document: JsonDocument, errors: readonly ErrorObject[]): JsonFault[] {
  const faults = errors.filter(({ keyword }) => keyword !== 'if').map((error) => faultOf(document, error));
  return [...new Map(faults.map((fault) => [`${fault.pointer} ${fault.message}`, fault])).values()];
}

function faultOf(document: JsonDocument, error: ErrorObject): JsonFault {
  const { keyword, instancePath, params, parentSchema, message = keyword } = error;
  if (keyword === 'additionalProperties') {
    const place = document.placeOf(`${instancePath}/${escaped(params['additionalProperty'])}`, 'name');
    return { ...place, message: 'is not a member that belongs here: remove it, or correct its name' };
  }
  const place = document.placeOf(instancePath);
  if (keyword === 'required') return { ...place, message: `${String(params['missingProperty'])} is missing` };
  const rule: unknown = parentSchema?.['description'];
  return { ...place, message: typeof rule === 'string' ? rule : message };
}
