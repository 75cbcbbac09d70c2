import { newEncounter, newPartner, newPatient } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { token } = partner;

const records = {
  updatePatient: async () => `/clients/${await newPatient(harness, partner)}`,
  updateEncounter: async () => `/encounters/${(await newEncounter(harness, partner)).encounter_id}`,
};

const read = async (path: string) => {
  const { body, headers } = await call(harness, `GET ${path}`, { token });
  return { writers: body.metadata?.writers ?? [], tag: headers.get('ETag') ?? '' };
};

/** Reads the record, and adds the writer to the list in its metadata. */
async function write(path: string, writer: number) {
  const { writers, tag } = await read(path);
  const json = { metadata: { writers: [...writers, writer] } };
  const { status } = await call(harness, `PATCH ${path}`, { token, json, headers: { 'If-Match': tag } });
  return { writer, tag, status };
}

it.each(Object.entries(records))(
  '%s with If-Match accepts one of 50 simultaneous changes to each version',
  async (_id, create) => {
    const path = await create();
    for (const round of [1, 2]) {
      const before = await read(path);
      const writes = await Promise.all(Array.from({ length: 50 }, (_, index) => write(path, 100 * round + index)));
      const winners = writes.filter(({ status }) => status === 200);
      expect(new Set(writes.map(({ status }) => status))).toEqual(new Set([200, 412]));
      expect(new Set(winners.map(({ tag }) => tag)).size).toBe(winners.length);
      const added = (await read(path)).writers.slice(before.writers.length);
      expect(added.toSorted()).toEqual(winners.map(({ writer }) => writer).toSorted());
    }
  },
);
