import type { Operation } from './operation.js';
import * as products from '../domain/catalog/products.js';
import { pageMeta } from '../views/pageMeta.js';
import { productView } from '../views/productView.js';

/** GET /tenants/products: the catalog, without deleted products. */
export const listProducts: Operation<'listProducts'> = async ({ query }, context) => {
  const { rows, total } = await products.listProducts(context, query);
  return { status: 200, body: { data: rows.map(productView), meta: pageMeta(total, query) } };
};
