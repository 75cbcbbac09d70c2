import type { RefState } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input, Schemas } from '../../contract.js';
import type { ModelContext } from '../transactions/transaction.js';

/** The states for addresses, by name: of all countries, or of one given by its ISO 3166 code in either case. */
export function listStates({ db }: Pick<Context, 'db'>, countryCode?: string): Promise<RefState[]> {
  const where = countryCode === undefined ? {} : { countryCode: countryCode.toUpperCase() };
  return db.prisma.refState.findMany({ where, orderBy: [{ name: 'asc' }, { id: 'asc' }] });
}

type Entry = Schemas['ReferenceList']['data'][number];

/** Units of a prescription's quantity: those of NCPDP. */
const units: readonly Entry[] = [
  { id: '01a05c32-5e80-7000-8000-0000000003a1', name: 'Each' },
  { id: '01a05c32-5e80-7000-8000-0000000003a2', name: 'Gram' },
  { id: '01a05c32-5e80-7000-8000-0000000003a3', name: 'Milliliter' },
];
const refrigerationTypes: readonly Entry[] = [
  { id: '01a05c32-5e80-7000-8000-000000000f53', name: 'Frozen' },
  { id: '01a05c32-5e80-7000-8000-000000000f51', name: 'Refrigerated (2 to 8 °C)' },
  { id: '01a05c32-5e80-7000-8000-000000000f52', name: 'Room temperature' },
];

/** The name of the unit of a prescription's quantity; null if the id has no name. */
export const unitOf = (rx: { readonly quantityUnitOfMeasureId: string }): string | null =>
  units.find(({ id }) => id === rx.quantityUnitOfMeasureId)?.name ?? null;

/** The names behind the catalog's ids, sorted by name. */
export async function listReferenceData(
  { db: { prisma }, caller: { tenantId } }: Pick<ModelContext, 'db' | 'caller'>,
  list: Input<'listReferenceData'>['path']['list'],
): Promise<readonly Entry[]> {
  const where = { tenantId };
  switch (list) {
    case 'categories':
      return (await prisma.category.findMany({ where, orderBy: { categoryName: 'asc' } })).map(
        ({ id, categoryName: name }) => ({ id, name }),
      );
    case 'subcategories':
      return (await prisma.subcategory.findMany({ where, orderBy: [{ subCategoryName: 'asc' }, { id: 'asc' }] })).map(
        ({ id, subCategoryName: name }) => ({ id, name }),
      );
    case 'pharmacies':
      return (
        await prisma.product.groupBy({
          by: ['pharmacyName', 'pharmacyId'],
          where,
          orderBy: [{ pharmacyName: 'asc' }, { pharmacyId: 'asc' }],
        })
      ).map(({ pharmacyId: id, pharmacyName: name }) => ({ id, name }));
    case 'units':
      return units;
    case 'refrigeration-types':
      return refrigerationTypes;
  }
}
