import type { ProductRx } from '../../../generated/prisma/client.js';
import { jsonOf } from '../transactions/bulkSql.js';

/** The columns of `product_rx` that make up a prescription; only the catalog uses the other columns. */
const stated = [
  'rxNumber',
  'rxType',
  'drugForm',
  'drugStrength',
  'directions',
  'rxQty',
  'quantityUnitOfMeasureId',
  'daysSupply',
  'refills',
  'deaScheduleId',
  'daw',
  'refrigerationTypeId',
  'notes',
] as const satisfies readonly (keyof ProductRx)[];

/** A prescription as an encounter freezes it. */
export type Prescription = Pick<ProductRx, (typeof stated)[number]>;

/** An SQL expression for the prescription in a row of `product_rx` with the alias `rx`, as JSON. */
export const prescription = jsonOf('ProductRx', 'rx', {}, stated);
