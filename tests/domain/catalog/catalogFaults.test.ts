import type { JsonFault } from '../../../src/domain/catalog/import/jsonDocument.js';
import { useCatalogHarness, write } from './catalogHarness.js';
import {
  clinic,
  location,
  product,
  sample,
  withClinic,
  withOffer,
  withProduct,
  withRx,
  type Json,
} from './catalogSample.js';

const harness = useCatalogHarness();
const { faultsOf, stored } = harness;
const nothing = { clinics: [], categories: [], products: [] };
const variant = { name: 'Half', sku: 'V', price: '1', qty: 1 };

/** The text at the position of a fault. */
function textAt(text: string, { line, column }: JsonFault): string {
  return (text.split('\n')[line - 1] ?? '').slice(column - 1);
}

const without = (part: Json, member: string): Json =>
  Object.fromEntries(Object.entries(part).filter(([name]) => name !== member));
const money = /decimal number as text/;
const count = /whole number from 0 to 2147483647/;
const line = /1 to 255 characters on one line/;

describe.each<[string, unknown, string, RegExp, string]>([
  // Name, catalog, pointer, message, text at the position.
  ['a file that is not an object', [], '', /must be object/, '['],
  ['an unknown part', { shops: [] }, '/shops', /not a member/, '"shops"'],
  ['a clinic without e-mail', withClinic({ email: undefined }), '/clinics/0', /email is missing/, '{'],
  ['a clinic without locations', withClinic({ locations: undefined }), '/clinics/0', /locations is missing/, '{'],
  [
    'a category without subcategories',
    { categories: [without(sample().categories[0] ?? {}, 'subcategories')] },
    '/categories/0',
    /subcategories is missing/,
    '{',
  ],
  ['a malformed e-mail', withClinic({ email: 'austin' }), '/clinics/0/email', /e-mail address/, '"austin"'],
  ['a blank name', withClinic({ displayName: '  ' }), '/clinics/0/displayName', line, '"  "'],
  [
    'a name with white space around it',
    withClinic({ legalName: 'Austin ' }),
    '/clinics/0/legalName',
    line,
    '"Austin "',
  ],
  ['a name of 256 characters', withClinic({ legalName: 'a'.repeat(256) }), '/clinics/0/legalName', line, '"aaa'],
  ['a name on two lines', withClinic({ legalName: 'a\nb' }), '/clinics/0/legalName', line, '"a\\nb"'],
  ['U+0000', withClinic({ metadata: { note: 'a\u0000' } }), '/clinics/0/metadata/note', /U\+0000/, '"a\\u0000"'],
  [
    'half a surrogate pair',
    withClinic({ metadata: { 'a/b': '\ud800' } }),
    '/clinics/0/metadata/a~1b',
    /surrogate/,
    '"\\ud800"',
  ],
  ['metadata that is a text', withClinic({ metadata: 'x' }), '/clinics/0/metadata', /must be object,null/, '"x"'],
  [
    'a state of three letters',
    withClinic({ locations: [location({ state: 'TEX' })] }),
    '/clinics/0/locations/0/state',
    /two-letter/,
    '"TEX"',
  ],
  [
    'an unknown time zone',
    withClinic({ locations: [location({ timezone: 'America/Dallas' })] }),
    '/clinics/0/locations/0/timezone',
    /IANA/,
    '"America/Dallas"',
  ],
  [
    'an offset as time zone',
    withClinic({ locations: [location({ timezone: '+05:30' })] }),
    '/clinics/0/locations/0/timezone',
    /IANA/,
    '"+05:30"',
  ],
  [
    'locations without a primary one',
    withClinic({ locations: [location({ isPrimary: false })] }),
    '/clinics/0/locations',
    /isPrimary must be true in exactly one/,
    '[',
  ],
  [
    'two primary locations',
    withClinic({ locations: [location(), location({ name: 'B' })] }),
    '/clinics/0/locations/1',
    /isPrimary must be true in exactly one/,
    '{',
  ],
  [
    'two locations of one name',
    withClinic({ locations: [location(), location({ isPrimary: false })] }),
    '/clinics/0/locations/1',
    /repeats name of \/clinics\/0\/locations\/0/,
    '{',
  ],
  [
    'a clinic twice, in another case',
    { clinics: [clinic(), clinic({ legalName: 'AUSTIN, pllc' })] },
    '/clinics/1',
    /repeats legalName and email of \/clinics\/0/,
    '{',
  ],
  [
    'a category twice',
    { ...sample(), categories: [...sample().categories, sample().categories[0]] },
    '/categories/2',
    /repeats categoryName of \/categories\/0/,
    '{',
  ],
  [
    'a review interval in small letters',
    { categories: [{ ...sample().categories[0], reviewOften: 'yearly' }] },
    '/categories/0/reviewOften',
    /word in capitals/,
    '"yearly"',
  ],
  ['a pharmacy that no product has', { pharmacies: [{ name: 'Unused' }] }, '/pharmacies/0', /of no product/, '{'],
  ...['name', 'unitPrice', 'pharmacy', 'productId', 'category', 'subcategory', 'productOffer'].map(
    (member): [string, unknown, string, RegExp, string] => [
      `a product without ${member}`,
      withProduct({ [member]: undefined }),
      '/products/0',
      new RegExp(`^${member} is missing`),
      '{',
    ],
  ),
  ['a product without sku', { products: [without(product(), 'sku')] }, '/products/0', /sku is missing/, '{'],
  [
    'a sku twice',
    { ...sample(), products: [product(), product({ name: 'Other' })] },
    '/products/1',
    /repeats sku of \/products\/0/,
    '{',
  ],
  [
    'a description of 2001 characters',
    withProduct({ description: 'a'.repeat(2001) }),
    '/products/0/description',
    /at most 2000/,
    '"aaa',
  ],
  [
    'an image without an http URL',
    withProduct({ imageUrl: 'ftp://x.example/a' }),
    '/products/0/imageUrl',
    /http or https/,
    '"ftp:',
  ],
  ['a mistyped member', withProduct({ descripton: 'x' }), '/products/0/descripton', /not a member/, '"descripton"'],
  ['three decimals', withOffer({ price: '1.234' }), '/products/0/productOffer/price', money, '"1.234"'],
  ['a negative price', withProduct({ unitPrice: '-1' }), '/products/0/unitPrice', money, '"-1"'],
  ['money as a number', withOffer({ vendorCost: 12.5 }), '/products/0/productOffer/vendorCost', money, '12.5'],
  [
    'eleven digits of money',
    withOffer({ cogs: '12345678901' }),
    '/products/0/productOffer/cogs',
    money,
    '"12345678901"',
  ],
  [
    'money with an exponent',
    withOffer({ shippingAmount: '1e2' }),
    '/products/0/productOffer/shippingAmount',
    money,
    '"1e2"',
  ],
  [
    'an unknown kind of shipping',
    withOffer({ shippingType: 'PICKUP' }),
    '/products/0/productOffer/shippingType',
    /FREE_SHIPPING or FLAT_RATE/,
    '"PICKUP"',
  ],
  ['a stock beyond int4', withOffer({ qty: 2147483648 }), '/products/0/productOffer/qty', count, '2147483648'],
  ['a broken stock', withOffer({ qtyAlert: 1.5 }), '/products/0/productOffer/qtyAlert', count, '1.5'],
  ['an offer without price', withOffer({ price: undefined }), '/products/0/productOffer', /price is missing/, '{'],
  [
    'a variant twice',
    withOffer({ offerVariants: [variant, variant] }),
    '/products/0/productOffer/offerVariants/1',
    /repeats sku/,
    '{',
  ],
  [
    'a prescription without refills',
    withRx({ refills: undefined }),
    '/products/0/productRx',
    /refills is missing/,
    '{',
  ],
  [
    'a prescription whose code is not a UUID',
    withRx({ deaScheduleId: 'IV' }),
    '/products/0/productRx/deaScheduleId',
    /UUID/,
    '"IV"',
  ],
  ['an unknown pharmacy', withProduct({ pharmacy: 'None' }), '/products/0/pharmacy', /not a pharmacy/, '"None"'],
  ['an unknown category', withProduct({ category: 'None' }), '/products/0/category', /not a category/, '"None"'],
  [
    'a subcategory of another category',
    withProduct({ subcategory: 'GLP-1' }),
    '/products/0/subcategory',
    /not a subcategory of that category/,
    '"GLP-1"',
  ],
  [
    'an unknown clinic',
    withProduct({ clinicAvailability: [{ clinic: 'Nowhere' }] }),
    '/products/0/clinicAvailability/0/clinic',
    /not the legal name/,
    '"Nowhere"',
  ],
  [
    'a clinic by two of its names',
    withProduct({ clinicAvailability: [{ clinic: 'Austin, PLLC' }, { clinic: 'austin@x.example' }] }),
    '/products/0/clinicAvailability/1',
    /is the same availability as/,
    '{',
  ],
  [
    'a name of two clinics',
    {
      ...withProduct({ clinicAvailability: [{ clinic: 'Austin, PLLC' }] }),
      clinics: [clinic(), clinic({ email: 'second@x.example' })],
    },
    '/products/0/clinicAvailability/0/clinic',
    /name of 2 clinics/,
    '"Austin, PLLC"',
  ],
  [
    'an id that is not a UUID',
    withProduct({ id: 'urn:uuid:01a05c32-5e80-7000-8000-00000000dea0' }),
    '/products/0/id',
    /UUID of 36/,
    '"urn:',
  ],
  [
    'the deletion of an unknown sku',
    { products: [{ sku: 'NONE', isDeleted: true }] },
    '/products/0/sku',
    /no stored product/,
    '"NONE"',
  ],
])('%s', (_what, catalog, pointer, message, text) => {
  it('is refused at its position, and no row is written', async () => {
    const file = write(catalog);
    const faults = await faultsOf(file);
    const fault = faults.find((found) => found.pointer === pointer && message.test(found.message));
    expect({ faults, found: fault !== undefined }).toEqual({ faults, found: true });
    expect(fault && textAt(file, fault).startsWith(text)).toBe(true);
    expect(await stored()).toEqual(nothing);
  });
});
