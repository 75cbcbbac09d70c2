import { changesOf } from '../../../src/domain/transactions/changes.js';

const row = { id: 'a', encounterId: 'e', documentId: 'd' };
const removal = (model: string) => () => changesOf('lakeside', { [model]: [row] }, { [model]: [] });

it.each(['EncounterTreatment', 'GfeItem'])('changesOf deletes a row of %s that a decision leaves out', (model) => {
  const [statement, ...more] = removal(model)();
  expect(statement?.sql).toMatch(/^DELETE FROM/);
  expect(more).toEqual([]);
});

it.each(['Encounter', 'Order', 'OrderLine', 'Payment', 'Refund', 'EncounterAddendum', 'EncounterDocument', 'Patient'])(
  'changesOf refuses to delete a row of %s that a decision leaves out',
  (model) => {
    expect(removal(model)).toThrow(`A decision leaves out a row of ${model}: let it return this row.`);
  },
);
