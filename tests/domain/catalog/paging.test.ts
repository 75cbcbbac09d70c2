import { everyCase } from '../../support/everyCase.js';
import { newCategory, newClinic, newPartner, newProduct } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';

const harness = await openHarness();
/** `partner` has 21 clinics and 21 products, one more than the default page holds; `empty` has none. */
const [partner, empty] = [await newPartner(harness), await newPartner(harness)];
const group = await newCategory(harness, partner);
for (let number = 0; number < 21; number += 1) {
  await newClinic(harness, partner);
  await newProduct(harness, partner, group);
}

const lists = [
  ['GET /clinics', 'pagination'],
  ['GET /tenants/products', 'meta'],
] as const;

describe.each(lists)('%s', (target, metaName) => {
  const list = async (query: string, { token } = partner) => {
    const { status, body } = await call(harness, `${target}?${query}`, { token });
    expect(status).toBe(200);
    return { ids: body.data.map(({ id }: { id: string }) => id) as string[], meta: body[metaName] };
  };
  // Only the list of products has these members.
  const more = (hasNext: boolean, hasPrev: boolean) => (metaName === 'meta' ? { hasNext, hasPrev } : {});

  const pages: [string, string, number, object][] = [
    ['that is first', '', 20, { page: 1, limit: 20, totalPages: 2, ...more(true, false) }],
    ['in the middle', 'page=2&limit=7', 7, { page: 2, limit: 7, totalPages: 3, ...more(true, true) }],
    ['that is last and full', 'page=3&limit=7', 7, { page: 3, limit: 7, totalPages: 3, ...more(false, true) }],
    ['that is last and short', 'page=5&limit=5', 1, { page: 5, limit: 5, totalPages: 5, ...more(false, true) }],
    ['just past the end', 'page=4&limit=7', 0, { page: 4, limit: 7, totalPages: 3, ...more(false, true) }],
    ['far past the end', 'page=10000&limit=100', 0, { page: 10000, limit: 100, totalPages: 1, ...more(false, true) }],
    ['of one element', 'limit=1', 1, { page: 1, limit: 1, totalPages: 21, ...more(true, false) }],
    ['of most elements', 'limit=100', 21, { page: 1, limit: 100, totalPages: 1, ...more(false, false) }],
  ];
  it('answers pages of any size and position, 20 elements by default, and empty pages for an empty list', async () => {
    await everyCase(
      pages,
      ([which]) => which,
      async ([, query, length, rest]) => {
        const { ids, meta } = await list(query);
        expect(ids).toHaveLength(length);
        expect(meta).toEqual({ total: 21, ...rest });
      },
    );
    for (const query of ['page=1', 'page=5']) {
      const { ids, meta } = await list(query, empty);
      expect(ids).toEqual([]);
      expect(meta).toMatchObject({ total: 0, totalPages: 0, ...more(false, false) });
    }
  });
});
