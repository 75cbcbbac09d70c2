import type { RefState } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';

/**
 * The states that a patient's address can name, by name.
 * @param countryCode ISO 3166 code of two letters, in either case; default: of every country
 */
export function listStates({ db }: Pick<Context, 'db'>, countryCode?: string): Promise<RefState[]> {
  const where = countryCode === undefined ? {} : { countryCode: countryCode.toUpperCase() };
  return db.refState.findMany({ where, orderBy: [{ name: 'asc' }, { id: 'asc' }] });
}
