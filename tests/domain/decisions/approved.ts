import { Life } from './life.js';

export const catalog = [
  { id: 'botox', category: 'toxins', price: '240.00', shipping: '15.00' },
  { id: 'filler', category: 'toxins', price: '650.00', shipping: '15.00' },
  { id: 'semaglutide', category: 'weight', price: '299.00', rx: { refills: 1 }, reviewOften: 'MONTHLY' },
] as const;

/** A life with one completed encounter for all treatments of the catalog. */
export function approved(): Life {
  const life = new Life(catalog);
  life.review(life.request(catalog.map(({ id }) => id)));
  return life;
}

export const deny = () => ({ decision: 'denied' as const });
export const typesOf = ({ events }: Life): string[] => events.map(({ type }) => type);
