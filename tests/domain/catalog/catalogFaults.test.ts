import { clinic, faultsIn, location, product, sample, textAt, write, type Json } from './catalogSample.js';
import { withClinic, withOffer, withProduct, withRx } from './catalogSample.js';

const variant = { name: 'Half', sku: 'V', price: '1', qty: 1 };
const withCategory = (change: Json) => ({ categories: [{ ...sample().categories[0], ...change }] });
const withLocations = (locations: Json[]) => withClinic({ locations });
const withLocation = (change: Json) => withLocations([location(change)]);
const withProducts = (...products: Json[]) => ({ ...sample(), products });
const availableAt = (names: string[]) => withProduct({ clinicAvailability: names.map((name) => ({ clinic: name })) });

const scheduled = (schedule: number, refills: number, daysSupply: number): Json => {
  return { deaScheduleId: `01A05C32-5E80-7000-8000-00000000DEA${schedule}`, refills, daysSupply };
};

const money = /decimal number as text/;
const count = /whole number from 0 to 2147483647/;
const line = /1 to 255 characters on one line/;
const onePrimary = /exactly one element whose isPrimary is true/;
const notOfCategory = /not a subcategory of the product's category/;
const shipping = /FREE_SHIPPING or FLAT_RATE/;
const sameAs = (kind: string, pointer: string) => new RegExp(`is the same ${kind} as ${pointer}$`);

const clinicTwice = { clinics: [clinic(), clinic({ legalName: 'AUSTIN, pllc' })] };
const categoryTwice = { ...sample(), categories: [...sample().categories, sample().categories[0]] };
const locationTwice = [location(), location({ isPrimary: false })];

/** Name, catalog, pointer, message, start of the text at the position. */
type Case = [string, unknown, string, RegExp, string];

/** Cases that change one part of the sample; their pointers begin at that part. */
const ofPart = <T>(
  part: string,
  withChange: (change: T) => unknown,
  faults: [name: string, change: T, pointer: string, message: RegExp, text: string][],
): Case[] => faults.map(([name, change, pointer, ...rest]) => [name, withChange(change), part + pointer, ...rest]);

const cases: Case[] = [
  ['a file that is not an object', [], '', /must be object/, '['],
  ['an unknown part', { shops: [] }, '/shops', /not a member/, '"shops"'],
  [
    'a pharmacy that no product has',
    { pharmacies: [{ name: 'Unused' }] },
    '/pharmacies/0',
    /no product in this file has it/,
    '{',
  ],
  ...ofPart('/clinics/0', withClinic, [
    ['a clinic without e-mail', { email: undefined }, '', /email is missing/, '{'],
    ['a clinic without the member locations', { locations: undefined }, '', /locations is missing/, '{'],
    ['a malformed e-mail', { email: 'austin' }, '/email', /e-mail address/, '"austin"'],
    ['a blank name', { displayName: '  ' }, '/displayName', line, '"  "'],
    ['a name with white space around it', { legalName: 'Austin ' }, '/legalName', line, '"Austin "'],
    ['a name of 256 characters', { legalName: 'a'.repeat(256) }, '/legalName', line, '"aaa'],
    ['a name on two lines', { legalName: 'a\nb' }, '/legalName', line, '"a\\nb"'],
    ['an unknown member with a slash', { 'a/b': 1 }, '/a~1b', /not a member/, '"a/b"'],
    ['half a surrogate pair in a name', { displayName: '\ud800' }, '/displayName', line, '"\\ud800"'],
    ['metadata that is a text', { metadata: 'x' }, '/metadata', /must be object,null/, '"x"'],
  ]),
  ...ofPart('/clinics/0/locations/0', withLocation, [
    ['a state of three letters', { state: 'TEX' }, '/state', /two-letter/, '"TEX"'],
    ['an unknown time zone', { timezone: 'America/Dallas' }, '/timezone', /IANA/, '"America/Dallas"'],
    ['an offset as time zone', { timezone: '+05:30' }, '/timezone', /IANA/, '"+05:30"'],
  ]),
  ...ofPart('/clinics/0/locations', withLocations, [
    ['a clinic without a primary location', [location({ isPrimary: false })], '', onePrimary, '['],
    ['two primary locations', [location(), location({ name: 'B' })], '', onePrimary, '['],
    ['two locations of one name', locationTwice, '/1', sameAs('location', '/clinics/0/locations/0'), '{'],
  ]),
  ['a clinic twice, in another case', clinicTwice, '/clinics/1', sameAs('clinic', '/clinics/0'), '{'],
  ...ofPart('/categories/0', withCategory, [
    ['a category without the member subcategories', { subcategories: undefined }, '', /subcategories is missing/, '{'],
    ['a fraction as age', { minAge: 17.5 }, '/minAge', /years from 0 to 120/, '17.5'],
    [
      'a review interval in small letters',
      { reviewOften: 'once', reviewRecurring: false },
      '/reviewOften',
      /capitals, digits and underscores/,
      '"once"',
    ],
    [
      'an unknown interval of a recurring category',
      { reviewOften: 'WEEKLY' },
      '/reviewOften',
      /YEARLY or MONTHLY/,
      '"WEEKLY"',
    ],
  ]),
  ['a category twice', categoryTwice, '/categories/2', sameAs('category', '/categories/0'), '{'],
  ...['sku', 'name', 'unitPrice', 'pharmacy', 'productId', 'category', 'subcategory', 'productOffer'].map(
    (member): Case => {
      const message = new RegExp(`^${member} is missing`);
      return [`a product without ${member}`, withProduct({ [member]: undefined }), '/products/0', message, '{'];
    },
  ),
  [
    'a sku twice',
    withProducts(product(), product({ name: 'Other' })),
    '/products/1',
    sameAs('product', '/products/0'),
    '{',
  ],
  ...ofPart('/products/0', withProduct, [
    ['a description of 2001 characters', { description: 'a'.repeat(2001) }, '/description', /at most 2000/, '"aaa'],
    ['U+0000 in a description', { description: 'a\u0000' }, '/description', /U\+0000/, '"a\\u0000"'],
    ['half a surrogate pair in a description', { description: '\ud800' }, '/description', /surrogate/, '"\\ud800"'],
    ['an image without an http URL', { imageUrl: 'ftp://x.example/a' }, '/imageUrl', /http or https/, '"ftp:'],
    ['a mistyped member', { descripton: 'x' }, '/descripton', /not a member/, '"descripton"'],
    ['a negative age', { minAge: -1 }, '/minAge', /years from 0 to 120/, '-1'],
    ['a text as flag', { synchronousOnly: 'yes' }, '/synchronousOnly', /must be boolean/, '"yes"'],
    ['a negative price', { unitPrice: '-1' }, '/unitPrice', money, '"-1"'],
    ['an unknown pharmacy', { pharmacy: 'None' }, '/pharmacy', /not a pharmacy/, '"None"'],
    ['an unknown category', { category: 'None' }, '/category', /not a category/, '"None"'],
    ['a subcategory of another category', { subcategory: 'GLP-1' }, '/subcategory', notOfCategory, '"GLP-1"'],
    ['an id that is not a UUID', { id: 'urn:uuid:01a05c32-5e80-7000-8000-00000000dea0' }, '/id', /UUID of 36/, '"urn:'],
  ]),
  ...ofPart('/products/0/productOffer', withOffer, [
    ['money with three decimals', { price: '1.234' }, '/price', money, '"1.234"'],
    ['money as a number', { vendorCost: 12.5 }, '/vendorCost', money, '12.5'],
    ['eleven digits of money', { cogs: '12345678901' }, '/cogs', money, '"12345678901"'],
    ['money with an exponent', { shippingAmount: '1e2' }, '/shippingAmount', money, '"1e2"'],
    ['an unknown kind of shipping', { shippingType: 'PICKUP' }, '/shippingType', shipping, '"PICKUP"'],
    ['a stock beyond int4', { qty: 2147483648 }, '/qty', count, '2147483648'],
    ['a fraction as stock alert', { qtyAlert: 1.5 }, '/qtyAlert', count, '1.5'],
    ['an offer without price', { price: undefined }, '', /price is missing/, '{'],
    ['a variant twice', { offerVariants: [variant, variant] }, '/offerVariants/1', /is the same variant as/, '{'],
  ]),
  ...ofPart('/products/0/productRx', withRx, [
    ['a prescription without the member refills', { refills: undefined }, '', /refills is missing/, '{'],
    ['a deaScheduleId that is not a UUID', { deaScheduleId: 'IV' }, '/deaScheduleId', /UUID/, '"IV"'],
    ['a refill of C-II', scheduled(2, 1, 30), '/refills', /must be 0 for .* C-II$/, '1'],
    ['a sixth refill of C-III', scheduled(3, 6, 30), '/refills', /at most 5 for .* C-III$/, '6'],
    ['a sixth refill of C-IV', scheduled(4, 6, 30), '/refills', /at most 5 for .* C-IV$/, '6'],
    ['refills of C-III for 185 days', scheduled(3, 5, 37), '/refills', /at most 180 days for .* C-III$/, '5'],
    ['refills of C-IV for 182 days', scheduled(4, 2, 91), '/refills', /at most 180 days for .* C-IV$/, '2'],
  ]),
  ...ofPart('/products/0/clinicAvailability', availableAt, [
    ['availability at an unknown clinic', ['Nowhere'], '/0/clinic', /not the legal name/, '"Nowhere"'],
    [
      'availability at one clinic by two of its names',
      ['Austin, PLLC', 'austin@x.example'],
      '/1',
      /is the same availability as/,
      '{',
    ],
  ]),
  ...ofPart('/products/0/clinicAvailability', (clinics: Json[]) => ({ ...availableAt(['Austin, PLLC']), clinics }), [
    [
      'availability at a name of two clinics',
      [clinic(), clinic({ email: 'b@x.example' })],
      '/0/clinic',
      /names 2 clinics/,
      '"Austin',
    ],
  ]),
];

it.each(cases)('catalog import refuses %s, and names its position', (_name, catalog, pointer, message, text) => {
  const file = write(catalog);
  const faults = faultsIn(file);
  const fault = faults.find((other) => other.pointer === pointer && message.test(other.message));
  expect({ faults, isNamed: fault !== undefined }).toEqual({ faults, isNamed: true });
  expect(fault && textAt(file, fault).startsWith(text)).toBe(true);
});
