import { execFileSync, spawnSync } from 'node:child_process';
import { newEncounter, newPartner, newPatient, newToken } from '../support/factories.js';
import { openHarness } from '../support/openHarness.js';
import { call, type Answer } from '../support/http.js';
import { expectInvalidState } from '../support/invalidState.js';
import { isThere, packages } from '../support/optional.js';
import { expectProblem } from '../support/refusals.js';
import { claimedEncounter, completedEncounter, deny, reviewed, reviewer } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const get = (encounterNo: unknown, { token } = partner): Promise<Answer> =>
  call(harness, `GET /encounters/${String(encounterNo)}/certificate`, { token });

const hasReader = spawnSync('pdftotext', ['-v']).status === 0;
const canRead = isThere(hasReader, 'what a certificate says', packages('poppler-utils'));

/** The text of the page. */
async function textOf(encounterNo: number, token = partner.token): Promise<string> {
  const url = `${harness.baseUrl}/encounters/${encounterNo}/certificate`;
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const pdf = Buffer.from(await response.arrayBuffer());
  return execFileSync('pdftotext', ['-layout', '-', '-'], { input: pdf }).toString();
}

describe('200', () => {
  it('returns a tagged PDF of one page', async () => {
    const { encounter_id } = await completedEncounter(harness, partner);
    const { status, headers, text } = await get(encounter_id);
    const shown = [status, headers.get('Content-Type'), headers.get('Cache-Control')];
    expect(shown).toEqual([200, 'application/pdf', 'no-store']);
    expect(text).toMatch(/^%PDF-1\.7/);
    expect(text.match(/\/Type \/Page\b/g)).toHaveLength(1);
    for (const part of ['/Marked true', '/StructTreeRoot', '/Lang (en-US)']) expect(text).toContain(part);
  });

  const reads = canRead ? it : it.skip;
  reads('shows patient, decisions and provider, and marks approvals that are no longer in force', async () => {
    const { db, newId, now } = harness.domain;
    const times = { createdAt: now(), updatedAt: now() };
    const provider = { id: newId(), tenantId: partner.tenantId, reviewerRef: reviewer, npi: '1234567893' };
    await db.prisma.provider.create({ data: { ...provider, name: 'Ada Lane', isActive: true, ...times } });
    const patientId = await newPatient(harness, partner, { firstName: 'Łucja', lastName: 'Ševčenko' });
    const encounter = await completedEncounter(harness, partner, { patientId });
    const { encounter_id, gfe_no, gfe_data } = encounter;
    const text = await textOf(encounter_id);
    const person = ['Łucja Ševčenko', '1990-06-30'];
    const review = [gfe_data[0].category_name, 'Approved', 'Ada Lane', reviewer];
    for (const part of [`Good Faith Estimate ${gfe_no}`, ...person, ...review]) expect(text).toContain(part);
    expect(text).not.toContain('NO LONGER');
    const again = { patientId, treatmentIds: encounter.treatmentIds };
    await reviewed(harness, partner, await newEncounter(harness, partner, again), deny);
    expect(await textOf(encounter_id)).toMatch(/NO LONGER IN FORCE[^]*Superseded by a later denial/);
    const other = await completedEncounter(harness, partner);
    const start = harness.clock.now;
    harness.clock.now = new Date(other.gfe_data[0].validUntil);
    const expired = await textOf(other.encounter_id, await newToken(harness, partner));
    expect(expired).toMatch(/NO LONGER IN FORCE[^]*Expired on/);
    harness.clock.now = start;
  });
});

describe('400', () => {
  it('refuses a malformed encounter number', async () => {
    expectProblem(await get('GFE-1'), 400, 'validation_failed');
  });
});

describe('404', () => {
  it("answers encounter_not_found for an unknown encounter and for another tenant's", async () => {
    const { encounter_id } = await completedEncounter(harness, await newPartner(harness));
    for (const id of [encounter_id, 999_999_999]) expectProblem(await get(id), 404, 'encounter_not_found');
  });
});

describe('409', () => {
  it('refuses an encounter that is not completed with its current_status', async () => {
    const denied = await reviewed(harness, partner, await newEncounter(harness, partner), deny);
    for (const { encounter_id, status } of [await claimedEncounter(harness, partner), denied]) {
      expectInvalidState(await get(encounter_id), status);
    }
  });
});
