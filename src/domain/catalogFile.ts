import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Catalog } from './catalog.js';
import { catalogSchema } from './catalogSchema.js';
import { exactlyOne, uniqueBy } from './catalogKeywords.js';
import { escaped, parseJson, type JsonDocument, type JsonFault } from './jsonDocument.js';
import { isTimeZone } from './timeZone.js';

/** A catalog file that keeps to its schema, and where its elements stand. */
export interface CatalogFile {
  readonly catalog: Catalog;
  readonly document: JsonDocument;
}

/**
 * Reads a catalog file and checks everything that needs no database.
 * @returns the catalog, or every fault with its position
 */
export function readCatalog(text: string): CatalogFile | { readonly faults: readonly JsonFault[] } {
  const document = parseJson(text);
  const { value } = document;
  if (value === undefined) return { faults: document.faults };
  const valid = validator();
  if (valid(value) && document.faults.length === 0) return { catalog: value, document };
  const faults = [...document.faults, ...schemaFaults(document, valid.errors ?? [])];
  return { faults: faults.sort((a, b) => a.line - b.line || a.column - b.column) };
}

let compiled: ValidateFunction<Catalog> | undefined;

/** Compiled when first needed: only an import needs it. */
function validator(): ValidateFunction<Catalog> {
  if (compiled) return compiled;
  const options = { allErrors: true, verbose: true, useDefaults: true, allowUnionTypes: true, strictTypes: false };
  const ajv = new Ajv2020(options);
  addFormats.default(ajv, ['uuid', 'email', 'uri']);
  ajv.addFormat('time-zone', isTimeZone);
  ajv.addKeyword(uniqueBy);
  ajv.addKeyword(exactlyOne);
  return (compiled = ajv.compile<Catalog>(catalogSchema));
}

/** One fault for each wrong value, although several keywords may have refused it. */
function schemaFaults(document: JsonDocument, errors: readonly ErrorObject[]): JsonFault[] {
  const faults = new Map<string, JsonFault>();
  for (const error of errors.filter(({ keyword }) => keyword !== 'if')) {
    const fault = faultOf(document, error);
    faults.set(`${fault.pointer} ${fault.message}`, fault);
  }
  return [...faults.values()];
}

function faultOf(
  document: JsonDocument,
  { keyword, instancePath, params, parentSchema, message }: ErrorObject,
): JsonFault {
  if (keyword === 'required') {
    return document.fault(instancePath, `${String(params['missingProperty'])} is missing`);
  }
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']);
    return document.fault(`${instancePath}/${escaped(name)}`, 'is not a member that a catalog can have here', 'name');
  }
  const rule: unknown = parentSchema?.['description'];
  return document.fault(instancePath, typeof rule === 'string' ? rule : (message ?? keyword));
}
