import { newEncounter, newPartner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer, type CallOptions } from '../../support/http.js';
import { expectInvalidState } from '../../support/invalidState.js';
import { claimedEncounter, eventsOf, recordOf } from '../../support/reviews.js';

type Encounter = Answer['body'];

const harness = await openHarness();
const partner = await newPartner(harness);

const patch = ({ encounter_id }: Encounter, json: unknown, options: CallOptions = {}): Promise<Answer> =>
  call(harness, `PATCH /encounters/${encounter_id}`, { token: partner.token, json, ...options });
const get = ({ encounter_id }: Encounter, { token } = partner): Promise<Answer> =>
  call(harness, `GET /encounters/${encounter_id}`, { token });
const stored = async (encounter: Encounter): Promise<Encounter> => recordOf((await get(encounter)).body);
const updates = async (encounter: Encounter): Promise<unknown[]> =>
  (await eventsOf(harness, encounter)).flatMap(([type, data]) => (type === 'encounter.updated' ? [data] : []));

describe('updateEncounter of patientState', () => {
  it('decides reviewState, and null returns to the state that the patient and the clinic give', async () => {
    const encounter = await newEncounter(harness, partner);
    expect(encounter).toMatchObject({ patientState: null, reviewState: 'TX' });
    expect((await patch(encounter, { patientState: 'az' })).body).toMatchObject({
      patientState: 'AZ',
      reviewState: 'AZ',
    });
    expect(await stored(encounter)).toMatchObject({ patientState: 'AZ', reviewState: 'AZ' });
    expect((await patch(encounter, { patientState: null })).body).toMatchObject({
      patientState: null,
      reviewState: 'TX',
    });
    const { encounter_id, gfe_no } = encounter;
    const changed = { encounter_id, gfe_no, changed: ['patientState'] };
    expect(await updates(encounter)).toEqual([changed, changed]);
  });

  it('is refused once the encounter is claimed', async () => {
    const claimed = await claimedEncounter(harness, partner);
    expectInvalidState(await patch(claimed, { patientState: 'AZ' }), 'in_review');
    expect(await stored(claimed)).toEqual(claimed);
  });
});
