import type { Operation } from '../contract.js';
import { listProducts as list } from '../domain/products.js';
import { pageMeta } from '../views/pageMeta.js';
import { productView } from '../views/productView.js';

/** GET /tenants/products: the catalog, without deleted products. */
export const listProducts: Operation<'listProducts'> = async ({ query }, context) => {
  const { products, total } = await list(context, query);
  return { status: 200, body: { data: products.map(productView), meta: pageMeta(total, query) } };
};
