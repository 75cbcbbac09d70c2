import { everyCase } from '../../support/everyCase.js';
import { newCategory, newClinic, newPartner, newProduct } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';

const plain = ['100% Care', '100x Care', 'a_b', 'axb', 'back\\slash', 'backXslash'];
const names = [...plain, 'ÉLAN Ästhetik', 'ΟΔΟΣ', 'O\'Brien "Bob"', '😀 Smile', '  spaced  out  '];

const harness = await openHarness();
const partner = await newPartner(harness);
const group = await newCategory(harness, partner);
for (const [number, name] of names.entries()) {
  await newClinic(harness, partner, { legalName: name, email: `desk_${number}+x%y@example.com` });
  await newProduct(harness, partner, { name, sku: `SKU_${number}%z`, ...group });
}

describe.each([
  ['GET /clinics', 'legalName', 'DESK'],
  ['GET /tenants/products', 'name', 'sku'],
])('the search of %s', (target, nameMember, code) => {
  const search = async (text: string): Promise<string[]> => {
    const path = `${target}?search=${encodeURIComponent(text)}`;
    const { status, body } = await call(harness, path, { token: partner.token });
    expect(status).toBe(200);
    return body.data.map((row: Record<string, string>) => row[nameMember]);
  };

  const found: [string[], string[]][] = [
    [
      ['100% Care', '100x Care'],
      ['100%', 'care 100', '00% are', 'care', 'CARE', '  care  ', '\tcare\n'],
    ],
    [['100x Care'], ['CARE, (100x)']],
    [
      ['back\\slash', 'backXslash'],
      ['slash-back', 'lash ac', 'K\\SLASH'],
    ],
    [['back\\slash'], ['\\', ' \\ ']],
    [['ÉLAN Ästhetik'], ['élan ÄST']],
    [['ΟΔΟΣ'], ['οδοσ', 'ΟΔΟΣ']],
    [['O\'Brien "Bob"'], ["bob o'brien", '"bri']],
    [['😀 Smile'], ['😀', 'smile']],
    [['  spaced  out  '], ['out spaced']],
    [[], ['care slash', '\\%', '\\\\', 'elan', "' OR 1=1 --", 'nothing like it']],
  ];
  it('finds names in which all words of the query occur, in any order and case', () =>
    everyCase(found, JSON.stringify, async ([expected, texts]) => {
      for (const text of texts) expect([text, await search(text)]).toEqual([text, expected]);
    }));

  it('separates words at an underscore', async () => {
    expect(await search('a_b')).toEqual(expect.arrayContaining(['a_b', 'axb', 'back\\slash']));
  });

  it('searches e-mail or SKU, too, and takes a query of punctuation alone literally', async () => {
    expect(await search(`${code}_3`)).toEqual(['axb']);
    expect(await search(`xb ${code}`)).toEqual(['axb']);
    expect(await search('%_')).toEqual([]);
    expect((await search('_\n_')).sort()).toEqual([...names].sort());
  });

  it('returns every element for a blank text', async () => {
    for (const text of ['', ' ', '\t \n']) expect((await search(text)).sort()).toEqual([...names].sort());
  });
});
