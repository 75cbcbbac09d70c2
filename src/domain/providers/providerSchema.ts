import type { FromSchema } from 'json-schema-to-ts';

// Each description states the whole rule of a non-null value, because operators read it in place of Ajv's message.
const line = (maxLength: number) =>
  ({
    type: 'string',
    maxLength,
    pattern: '^(?!\\s)[^\\u0000-\\u001F\\u007F]+(?<!\\s)$',
    description: `must be a text of 1 to ${maxLength} characters, without control characters and surrounding white space`,
  }) as const;

const license = {
  type: 'object',
  additionalProperties: false,
  required: ['state', 'number', 'expiresOn'],
  properties: {
    state: {
      type: 'string',
      pattern: '^[A-Z]{2}$',
      description: 'must be the two-letter code of a state, in capitals',
    },
    number: line(64),
    expiresOn: { type: 'string', format: 'date', description: 'must be the last day in force, as YYYY-MM-DD' },
    asynchronousAllowed: { type: 'boolean', default: false },
  },
} as const;

export const providerSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['providers'],
  properties: {
    providers: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['reviewerRef', 'name', 'npi', 'licenses'],
        properties: {
          reviewerRef: line(64),
          name: line(255),
          npi: { type: 'string', pattern: '^\\d{10}$', description: 'must be an NPI of ten digits' },
          credential: {
            enum: ['MD', 'DO', 'NP', 'PA', 'RN', 'other', null],
            default: null,
            description: 'must be MD, DO, NP, PA, RN or other',
          },
          deaNumber: {
            type: ['string', 'null'],
            default: null,
            pattern: '^[A-Z][A-Z9]\\d{7}$',
            description: 'must be a DEA number: a capital letter, a second one or 9, and seven digits',
          },
          isActive: { type: 'boolean', default: true },
          licenses: { type: 'array', items: license },
        },
      },
    },
  },
} as const;

export type ProviderFile = FromSchema<typeof providerSchema>;
export type ProviderEntry = ProviderFile['providers'][number];
