import { approved, catalog, deny, typesOf } from './approved.js';
import type { Life } from './life.js';
import { codeOf, problemOf, refusalOf, shipTo } from './world.js';

describe('a reorder', () => {
  it("has today's prices, and its own address or that of the first order", () => {
    const life = approved();
    life.catalog.set('botox', { ...catalog[0], price: '300.00' });
    life.reorder(0, ['botox']);
    life.reorder(0, ['filler'], { ...shipTo, city: 'Dallas' });
    const orders = life.encounters[0]?.orders.map(({ grandTotal, lines, shipTo: address, position }) => {
      return [String(grandTotal), lines.map(({ productId }) => productId), (address as typeof shipTo).city, position];
    });
    expect(orders?.slice(1)).toEqual([
      ['315', ['botox'], 'Austin', 1],
      ['665', ['filler'], 'Dallas', 2],
    ]);
    expect(typesOf(life).at(-1)).toBe('order.created');
  });

  it('of a prescription is refused after one order more than it has refills, not counting cancelled lines', () => {
    const life = approved();
    life.fulfil(0, 'cancelled', ['semaglutide']);
    life.reorder(0, ['semaglutide']);
    life.reorder(0, ['semaglutide']);
    expect(refusalOf(() => life.reorder(0, ['semaglutide']))).toEqual(['no_refills_left', '#/treatmentIds/0']);
  });

  it('is refused for a treatment that the encounter lacks, and beyond 100 orders', () => {
    const life = approved();
    life.catalog.set('peptide', { id: 'peptide', category: 'toxins', price: '1.00' });
    expect(refusalOf(() => life.reorder(0, ['botox', 'peptide']))).toEqual(['treatment_not_found', '#/treatmentIds/1']);
    for (let count = 1; count < 100; count += 1) life.reorder(0, ['botox']);
    expect(codeOf(() => life.reorder(0, ['botox']))).toBe('too_many_records');
  });

  it.each<[string, string, (life: Life) => void]>([
    ['approval_ended', 'is not covered: revoked', (life) => life.revoke(0)],
    ['approval_ended', 'is not covered: denied', (life) => life.review(life.request(['botox']), deny)],
    [
      'approval_ended',
      'is approved in another encounter: reorder it there',
      (life) => life.review(life.request(['botox'])),
    ],
    [
      'approval_ended',
      'is not covered: not_permitted',
      (life) => void life.catalog.set('botox', { ...catalog[0], isActive: false }),
    ],
    ['approval_ended', 'is not covered: expired', (life) => life.pass(400)],
    ['facts_changed', '', (life) => life.addendum(0)],
  ])('answers %s with the detail %j', (code, detail, change) => {
    const life = approved();
    change(life);
    const problem = problemOf(() => life.reorder(0, ['botox']));
    expect([problem?.code, problem?.errors[0]?.detail ?? '']).toEqual([code, detail]);
  });
});
