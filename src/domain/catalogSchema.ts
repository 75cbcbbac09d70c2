// A description tells an operator the whole rule of a value, instead of the keyword that refused it.
const name = {
  type: 'string',
  maxLength: 255,
  pattern: '^(?!\\s)[^\\u0000-\\u001F\\u007F]+(?<!\\s)$',
  description: 'must be a text of 1 to 255 characters on one line, without white space around it',
};
const longText = (limit: number, type: unknown = ['string', 'null']) => ({
  type,
  maxLength: limit,
  description: `must be a text of at most ${limit} characters`,
});
const money = {
  type: 'string',
  pattern: '^\\d{1,10}(\\.\\d{1,2})?$',
  description: 'must be a decimal number as text with at most 10 digits before and 2 after the point, such as "240.00"',
};
const count = {
  type: 'integer',
  minimum: 0,
  maximum: 2_147_483_647,
  description: 'must be a whole number from 0 to 2147483647',
};
const uuid = { type: 'string', format: 'uuid', maxLength: 36, description: 'must be a UUID of 36 characters' };
const flag = (fallback: boolean) => ({ type: 'boolean', default: fallback });
const orNull = (schema: { type: string }) => ({ ...schema, type: [schema.type, 'null'], default: null });
const metadata = { type: ['object', 'null'], default: null };
const list = (items: object, unique: object) => ({ type: 'array', items, uniqueBy: unique });
const optionalList = (items: object, unique: object) => ({ ...list(items, unique), default: [] });

const element = (required: readonly string[], properties: object) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties: { id: uuid, ...properties },
});

const location = element(['name', 'address1', 'city', 'state', 'postal'], {
  name,
  address1: name,
  address2: orNull(name),
  city: name,
  state: { type: 'string', pattern: '^[A-Za-z]{2}$', description: 'must be the two-letter code of a state' },
  postal: name,
  country: { type: 'string', pattern: '^[A-Z]{2}$', default: 'US', description: 'must be a two-letter country code' },
  phone: orNull(name),
  timezone: {
    type: ['string', 'null'],
    format: 'time-zone',
    default: null,
    description: 'must be an IANA time-zone name such as America/Chicago',
  },
  isPrimary: flag(false),
  isActive: flag(true),
});

const clinic = element(['legalName', 'displayName', 'email', 'locations'], {
  legalName: name,
  displayName: name,
  email: { type: 'string', format: 'email', maxLength: 254, description: 'must be an e-mail address' },
  isActive: flag(true),
  metadata,
  locations: { ...list(location, { members: ['name'] }), exactlyOne: 'isPrimary' },
});

const category = element(['categoryName', 'reviewOften', 'reviewRecurring', 'subcategories'], {
  categoryName: name,
  reviewOften: {
    type: 'string',
    maxLength: 255,
    pattern: '^[A-Z][A-Z0-9_]*$',
    description: 'must be a word in capitals such as YEARLY or MONTHLY',
  },
  reviewRecurring: { type: 'boolean' },
  subcategories: list(element(['subCategoryName'], { subCategoryName: name }), { members: ['subCategoryName'] }),
});

const productRx = element(
  ['refills', 'deaScheduleId', 'quantityUnitOfMeasureId', 'rxQty', 'daysSupply', 'refrigerationTypeId'],
  {
    rxNumber: orNull(name),
    drugForm: orNull(name),
    drugStrength: orNull(name),
    directions: { ...longText(255), default: null },
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
    notes: { ...longText(255), default: null },
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
  // Money must not guess (D-04): the interface shows these two and what they mean.
  shippingType: { enum: ['FREE_SHIPPING', 'FLAT_RATE'], description: 'must be FREE_SHIPPING or FLAT_RATE' },
  shippingAmount: money,
  vendorCost: money,
  cogs: money,
  offerVariants: optionalList(variant, { members: ['sku'] }),
});

const product = {
  ...element(['sku'], {
    sku: name,
    name,
    description: { ...longText(2000, 'string'), default: '' },
    unitPrice: money,
    isActive: flag(true),
    isDeleted: flag(false),
    metadata,
    pharmacy: name,
    productId: name,
    category: name,
    subcategory: name,
    imageUrl: {
      type: ['string', 'null'],
      format: 'uri',
      pattern: '^https?://',
      maxLength: 2000,
      default: null,
      description: 'must be an absolute http or https URL',
    },
    productRx: { ...productRx, type: ['object', 'null'], default: null },
    productOffer,
    clinicAvailability: optionalList(element(['clinic'], { clinic: name, isActive: flag(true) }), {
      members: ['clinic'],
    }),
  }),
  if: { properties: { isDeleted: { const: true } }, required: ['isDeleted'] },
  else: { required: ['name', 'unitPrice', 'pharmacy', 'productId', 'category', 'subcategory', 'productOffer'] },
};

/** JSON Schema 2020-12 of a catalog file. `uniqueBy` and `exactlyOne` are keywords of our own (catalogFile.ts). */
export const catalogSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    clinics: optionalList(clinic, { members: ['legalName', 'email'], ignoreCase: true }),
    pharmacies: optionalList(element(['name'], { name }), { members: ['name'] }),
    categories: optionalList(category, { members: ['categoryName'] }),
    products: optionalList(product, { members: ['sku'] }),
  },
};
