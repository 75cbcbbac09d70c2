import type { FromSchema } from 'json-schema-to-ts';

// Each description states the whole rule of a non-null value, because operators read it in place of Ajv's message.
const name = {
  type: 'string',
  maxLength: 255,
  pattern: '^(?!\\s)[^\\u0000-\\u001F\\u007F\\p{Cs}]+(?<!\\s)$',
  description:
    'must be a text of 1 to 255 characters on one line, without control characters, halves of surrogate pairs and ' +
    'surrounding white space',
} as const;
const text = (maxLength: number) =>
  ({
    type: 'string',
    maxLength,
    pattern: '^[^\\u0000\\p{Cs}]*$',
    description: `must be a text of at most ${maxLength} characters, without U+0000 and halves of surrogate pairs`,
  }) as const;
const money = {
  type: 'string',
  pattern: '^\\d{1,10}(\\.\\d{1,2})?$',
  description: 'must be a decimal number as text with at most 10 digits before and 2 after the point, such as "240.00"',
} as const;
const count = {
  type: 'integer',
  minimum: 0,
  maximum: 2_147_483_647,
  description: 'must be a whole number from 0 to 2147483647',
} as const;
const age = {
  type: 'integer',
  minimum: 0,
  maximum: 120,
  description: 'must be a whole number of years from 0 to 120',
} as const;
const uuid = { type: 'string', format: 'uuid', maxLength: 36, description: 'must be a UUID of 36 characters' } as const;
const timeZone = {
  type: 'string',
  format: 'time-zone',
  description: 'must be an IANA time-zone name such as America/Chicago',
} as const;
const flag = <const Default extends boolean>(fallback: Default) => ({ type: 'boolean', default: fallback }) as const;
const orNull = <const Type extends string, const Rest>({ type, ...rest }: { readonly type: Type } & Rest) =>
  ({ ...rest, type: [type, 'null'], default: null }) as const;
const metadata = orNull({ type: 'object' });
const list = <const Items>(items: Items) => ({ type: 'array', items }) as const;
const optionalList = <const Items>(items: Items) => ({ ...list(items), default: [] }) as const;

/**
 * Schema of an element. An id finds the stored row, even if its key (such as the name or SKU) differs, or is given to a
 * new row; without an id, the key finds the row.
 */
const element = <const Required extends readonly string[], const Properties>(
  required: Required,
  properties: Properties,
) => ({ type: 'object', additionalProperties: false, required, properties: { id: uuid, ...properties } }) as const;

const location = element(['name', 'address1', 'city', 'state', 'postal'], {
  name,
  address1: name,
  address2: orNull(name),
  city: name,
  state: { type: 'string', pattern: '^[A-Za-z]{2}$', description: 'must be the two-letter code of a state' },
  postal: name,
  country: { type: 'string', pattern: '^[A-Z]{2}$', default: 'US', description: 'must be two capitals, such as US' },
  phone: orNull(name),
  timezone: orNull(timeZone),
  isPrimary: flag(false),
  isActive: flag(true),
});

const clinic = element(['legalName', 'displayName', 'email', 'locations'], {
  legalName: name,
  displayName: name,
  email: {
    type: 'string',
    format: 'email',
    maxLength: 254,
    description: 'must be an e-mail address of at most 254 characters',
  },
  isActive: flag(true),
  metadata,
  locations: list(location),
});

/** Restrictions of a category or a product. */
const permission = { minAge: orNull(age), synchronousOnly: flag(false) } as const;

const category = {
  ...element(['categoryName', 'reviewOften', 'reviewRecurring', 'subcategories'], {
    categoryName: name,
    reviewOften: {
      type: 'string',
      maxLength: 255,
      pattern: '^[A-Z][A-Z0-9_]*$',
      description: 'must be a word of at most 255 capitals, digits and underscores, such as YEARLY or MONTHLY',
    },
    reviewRecurring: { type: 'boolean' },
    ...permission,
    subcategories: list(element(['subCategoryName'], { subCategoryName: name })),
  }),
  // Require a recurrence that the service knows: with another one, approvals would never end.
  if: { properties: { reviewRecurring: { const: false } } },
  else: {
    properties: {
      reviewOften: {
        enum: ['YEARLY', 'MONTHLY'],
        description: 'must be YEARLY or MONTHLY, because the category is recurring',
      },
    },
  },
} as const;

const productRx = element(
  ['refills', 'deaScheduleId', 'quantityUnitOfMeasureId', 'rxQty', 'daysSupply', 'refrigerationTypeId'],
  {
    rxNumber: orNull(name),
    drugForm: orNull(name),
    drugStrength: orNull(name),
    directions: orNull(text(255)),
    refills: count,
    rxType: orNull(name),
    deaScheduleId: uuid,
    quantityUnitOfMeasureId: uuid,
    codeListQualifier: orNull(name),
    rxQty: count,
    daysSupply: count,
    dateWritten: orNull(name),
    daw: orNull(name),
    requestedBy: orNull(name),
    refrigerationTypeId: uuid,
    notes: orNull(text(255)),
  },
);

const variant = element(['name', 'sku', 'price', 'qty'], {
  name,
  sku: name,
  price: money,
  qty: count,
  isActive: flag(true),
});

const productOffer = element(['price', 'qty', 'qtyAlert', 'shippingType', 'shippingAmount', 'vendorCost', 'cogs'], {
  price: money,
  qty: count,
  qtyAlert: count,
  // Members about money must be given, without default; these are the two values that the API shows.
  shippingType: { enum: ['FREE_SHIPPING', 'FLAT_RATE'], description: 'must be FREE_SHIPPING or FLAT_RATE' },
  shippingAmount: money,
  vendorCost: money,
  cogs: money,
  offerVariants: optionalList(variant),
});

const product = element(
  ['sku', 'name', 'unitPrice', 'pharmacy', 'productId', 'category', 'subcategory', 'productOffer'],
  {
    sku: name,
    name,
    description: { ...text(2000), default: '' },
    unitPrice: money,
    isActive: flag(true),
    isDeleted: flag(false),
    metadata,
    pharmacy: name,
    productId: name,
    category: name,
    subcategory: name,
    imageUrl: orNull({
      type: 'string',
      format: 'uri',
      pattern: '^https?://',
      maxLength: 2000,
      description: 'must be an absolute http or https URL of at most 2000 characters',
    }),
    ...permission,
    productRx: orNull(productRx),
    productOffer,
    /** `clinic` names a clinic by legal name, e-mail or id. */
    clinicAvailability: optionalList(element(['clinic'], { clinic: name, isActive: flag(true) })),
  },
);

/** JSON Schema 2020-12 of a catalog file. Products name pharmacy, category and clinics, so a file may omit ids. */
export const catalogSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Catalog file',
  type: 'object',
  additionalProperties: false,
  properties: {
    clinics: optionalList(clinic),
    pharmacies: optionalList(element(['name'], { name })),
    categories: optionalList(category),
    products: optionalList(product),
  },
} as const;

/** A valid file with the schema's defaults filled in. */
export type Catalog = FromSchema<typeof catalogSchema>;
export type CatalogProduct = Catalog['products'][number];
