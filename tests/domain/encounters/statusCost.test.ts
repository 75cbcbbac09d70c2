import { copyEncounter } from '../../support/copies.js';
import { newEncounter, newPartner } from '../../support/factories.js';
import { call } from '../../support/http.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { ownStatementsOf, rowsScanned } from '../../support/statements.js';

const ENCOUNTERS = 300;

const { harness, observer } = await openObservedHarness();

it("getEncounterStatus reads each of the tenant's encounters at most twice before the first ANALYZE", async () => {
  const partner = await newPartner(harness);
  const { id, encounter_id } = await newEncounter(harness, partner);
  await observer.query('SET session_replication_role = replica');
  await copyEncounter(observer, id, ENCOUNTERS);
  const { token } = partner;
  const [statement] = await ownStatementsOf(() =>
    call(harness, 'POST /encounters/status', { token, json: { encounter_id } }),
  );
  if (!statement) throw new Error('The operation sent no statement.');
  expect(await rowsScanned(observer, statement)).toBeLessThan(2 * ENCOUNTERS + 10);
});
