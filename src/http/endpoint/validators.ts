import { _, type KeywordCxt } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const { validate: isDateTime } = addFormats.default.get('date-time') as { validate: (text: string) => boolean };

/** `validate(schema, value)` compiles a schema on first use and caches it by identity, so a start stays quick. */
function validator(useDefaults: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    useDefaults,
    // `make lint` checks the contract; compiling the meta-schema would take longer than compiling the schemas in use.
    validateSchema: false,
    // Adds the schema to each error: it may name a problem code.
    verbose: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
    // Checks an event against the schema of its type only.
    discriminator: true,
  });
  ajv.addVocabulary(['example', 'externalDocs', 'xml', 'x-extensible-enum', 'x-problem-codes']);
  addFormats.default(ajv);
  // ajv-formats parses the seconds as a float, so that enough decimals round up to the next second.
  ajv.addFormat('date-time', (text: string) => isDateTime(text.replace(/\.\d+/, '')));
  // Hints for code generators. `minimum` and `maximum` are the limits; the format would report the same error again.
  for (const format of ['int32', 'int64']) ajv.addFormat(format, true);
  for (const keyword of ['pattern', 'format']) skipAbove(ajv, 'maxLength', keyword);
  for (const keyword of ['items', 'uniqueItems']) skipAbove(ajv, 'maxItems', keyword);
  return ajv;
}

/** `allErrors` checks the content of over-long values, too: skip it, or bad requests cost more than the limits admit. */
function skipAbove(ajv: Ajv2020, limit: 'maxLength' | 'maxItems', keyword: string): void {
  const definition = ajv.getKeyword(keyword);
  if (typeof definition !== 'object' || !('code' in definition)) throw new Error(`Ajv has no code for ${keyword}`);
  const code = (cxt: KeywordCxt, ruleType?: string): void => {
    const max: unknown = cxt.parentSchema[limit];
    // `length` counts UTF-16 units; maxLength counts characters of one or two units.
    const isWithin = typeof max === 'number' ? _`${cxt.data}.length <= ${2 * max}` : true;
    cxt.gen.if(isWithin, () => definition.code(cxt, ruleType));
  };
  ajv.removeKeyword(keyword).addKeyword({ ...definition, code });
}

export const requestValidator = validator(true);
/** Fills in no defaults: they would hide a missing property. */
export const responseValidator = validator(false);
