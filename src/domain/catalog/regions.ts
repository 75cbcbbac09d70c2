import type { RefState } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';

/** The states for addresses, by name: of all countries, or of one given by its ISO 3166 code in either case. */
export function listStates({ db }: Pick<Context, 'db'>, countryCode?: string): Promise<RefState[]> {
  const where = countryCode === undefined ? {} : { countryCode: countryCode.toUpperCase() };
  return db.prisma.refState.findMany({ where, orderBy: [{ name: 'asc' }, { id: 'asc' }] });
}
