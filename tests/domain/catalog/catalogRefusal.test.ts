import { clinic, faultsIn, location, offer, product, sample, write } from './catalogSample.js';

describe('a file that is not JSON', () => {
  it.each([
    ['{"clinics": [\n  {"a": 1 "b": 2}\n]}', 2, 11, /comma expected/],
    ['{"clinics": [],\n}', 2, 1, /property name expected/],
    ['{\n  // none\n}', 2, 3, /invalid comment token/],
    ['{"clinics": [\n', 2, 1, /close bracket expected/],
    ['', 1, 1, /not valid JSON/],
    ['{"a": "x\ty"}', 1, 7, /invalid character/],
    ['{"a": 01}', 1, 8, /comma expected/],
  ])('is refused at its first syntax error: %j', (text, atLine, column, message) => {
    const fault = { line: atLine, column, pointer: '', message: expect.stringMatching(message) };
    expect(faultsIn(text)).toEqual([fault]);
  });
});

it.each([100, 5_000, 200_000])(
  'catalog import refuses a file whose metadata alone has %i levels, and says why',
  (levels) => {
    const text = `{"clinics": [{"metadata": ${'['.repeat(levels)}${']'.repeat(levels)}}]}`;
    const messages = faultsIn(text).map(({ message }) => message);
    expect(messages.filter((message) => /nested too deeply/.test(message))).toHaveLength(1);
  },
);

describe('a catalog with a fault', () => {
  it('is refused with every fault, in the order of the file', () => {
    const clinics = [clinic({ email: 'x', extra: 1 }), clinic({ email: 'x', locations: [location({ state: '' })] })];
    const products = [product({ unitPrice: 1, productOffer: offer({ qty: -1, cogs: '' }) })];
    const faults = faultsIn(write({ ...sample(), clinics, products }));
    expect(faults.map(({ pointer }) => pointer)).toEqual([
      '/clinics/0/email',
      '/clinics/0/extra',
      '/clinics/1/email',
      '/clinics/1/locations/0/state',
      '/products/0/unitPrice',
      '/products/0/productOffer/qty',
      '/products/0/productOffer/cogs',
    ]);
    const places = faults.map((fault) => fault.line * 1000 + fault.column);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it('is refused with the faults of its form and with those of its references', () => {
    const products = [
      product({ sku: 'A', unitPrice: 1 }),
      product({ sku: 'B', category: 'None', pharmacy: 'None' }),
      product({ sku: 'C', unitPrice: 2 }),
      product({
        sku: 'D',
        clinicAvailability: ['Nowhere', 'Austin, PLLC', 'austin@x.example'].map((clinic) => ({ clinic })),
      }),
    ];
    const faults = faultsIn(write({ ...sample(), products }));
    expect(faults.map(({ pointer }) => pointer)).toEqual([
      '/products/0/unitPrice',
      '/products/1/pharmacy',
      '/products/1/category',
      '/products/2/unitPrice',
      '/products/3/clinicAvailability/0/clinic',
      '/products/3/clinicAvailability/2',
    ]);
    expect(faults.at(-1)?.message).toBe('is the same availability as /products/3/clinicAvailability/1');
  });

  it('is refused with one fault for each place of an unknown or ambiguous clinic name, even if the name is repeated', () => {
    const clinics = [clinic(), clinic({ email: 'b@x.example' })];
    const names = ['Austin, PLLC', 'Austin, PLLC', 'Nowhere', 'Nowhere'];
    const products = [product({ clinicAvailability: names.map((name) => ({ clinic: name })) })];
    const faults = faultsIn(write({ ...sample(), clinics, products }));
    expect(faults.map(({ pointer }) => pointer)).toEqual(
      names.map((_name, index) => `/products/0/clinicAvailability/${index}/clinic`),
    );
  });
});
