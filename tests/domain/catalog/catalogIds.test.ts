import { v7 } from 'uuid';
import { clinic, faultsIn, location, offer, placedIds, planned, product, sample, write } from './catalogSample.js';

describe('an id in the file', () => {
  const stored = planned(sample());
  const idOf = (kind: 'location' | 'product' | 'offer') => stored[kind][0]?.id;

  it.each(placedIds.filter(([kind]) => kind !== 'prescription' && kind !== 'availability'))(
    'is refused if it contradicts the id of the stored %s',
    (_kind, pointer, catalog) => {
      const message = expect.stringMatching(/differs from the id .* under which this .* is stored/);
      expect(faultsIn(write(catalog(v7())), stored)).toMatchObject([{ pointer: `${pointer}/id`, message }]);
    },
  );

  it('is refused if it is the id of a part of another stored clinic or product', () => {
    const message = expect.stringMatching(/elsewhere/);
    const locations = [location({ name: 'New', id: idOf('location') })];
    const second = clinic({ legalName: 'New, LLC', locations });
    const added = product({ id: v7(), sku: 'NEW', productOffer: offer({ id: idOf('offer') }) });
    for (const [catalog, pointer] of [
      [{ clinics: [second] }, '/clinics/0/locations/0/id'],
      [{ clinics: [clinic(), second] }, '/clinics/1/locations/0/id'],
      [{ products: [added] }, '/products/0/productOffer/id'],
    ]) {
      expect(faultsIn(write(catalog), stored)).toMatchObject([{ pointer, message }]);
    }
  });

  it('is refused if two products of the file have it', () => {
    const id = v7();
    const catalog = { ...sample(), products: [product({ id }), product({ id, sku: 'B' })] };
    const fault = { pointer: '/products/1', message: 'is the same product as /products/0' };
    expect(faultsIn(write(catalog))).toMatchObject([fault]);
  });

  it('is refused if its product has the sku of another stored product, or if another product of the file keeps its old sku', () => {
    const id = idOf('product');
    const fault = { pointer: '/products/0/id', message: expect.stringContaining('differs from the id') };
    expect(faultsIn(write({ products: [product({ id, sku: 'SEMA-25' })] }), stored)).toMatchObject([fault]);
    const renamedAndNamed = { products: [product({ id, sku: 'NEW' }), product()] };
    expect(faultsIn(write(renamedAndNamed), stored)).toMatchObject([{ message: 'is the same product as /products/0' }]);
  });
});
