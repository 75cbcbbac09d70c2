import type { Operation } from './operation.js';
import * as products from '../domain/catalog/products.js';
import { productView } from '../views/productView.js';

/** GET /tenants/products/{id}: one product, which may be deleted. */
export const getProduct: Operation<'getProduct'> = async ({ path }, context) => ({
  status: 200,
  body: productView(await products.getProduct(context, path.id)),
});
