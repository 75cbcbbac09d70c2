import { execFileSync, spawnSync } from 'node:child_process';
import { newCategory, newClinic, newEncounter, newPartner, newPatient, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { isThere, packages } from '../support/optional.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter, deny, reviewed, reviewer, revoked } from '../support/reviews.js';
import { atTime } from '../support/tokens.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const get = (encounterNo: unknown, { token } = partner): Promise<Answer> =>
  call(harness, `GET /encounters/${String(encounterNo)}/certificate`, { token });

const hasReader = spawnSync('pdftotext', ['-v']).status === 0;
const canRead = isThere(hasReader, 'tests of the text of certificates', packages('poppler-utils'));

/** The text of the pages. */
async function textOf(encounterNo: number, token = partner.token, order = '-layout'): Promise<string> {
  const url = `${harness.baseUrl}/encounters/${encounterNo}/certificate`;
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const pdf = Buffer.from(await response.arrayBuffer());
  return execFileSync('pdftotext', [order, '-', '-'], { input: pdf }).toString();
}

describe('getCertificate 409', () => {
  it('refuses a certificate for an encounter that waits for its review', async () => {
    const refused = await get((await newEncounter(harness, partner)).encounter_id);
    expectProblem(refused, 409, 'invalid_state');
    expect(refused.body.detail).toBe('Only completed encounters have a certificate.');
  });
});

describe('getCertificate 200', () => {
  it('returns a tagged PDF', async () => {
    const { encounter_id } = await completedEncounter(harness, partner);
    const { status, headers, text } = await get(encounter_id);
    const shown = [status, headers.get('Content-Type'), headers.get('Cache-Control')];
    expect(shown).toEqual([200, 'application/pdf', 'no-store']);
    expect(headers.get('Content-Disposition')).toBe(`inline; filename=GFE-${encounter_id}.pdf`);
    expect(text).toMatch(/^%PDF-1\.7/);
    expect(text.match(/\/Type \/Page\b/g)).toHaveLength(1);
    for (const part of ['/Marked true', '/StructTreeRoot', '/Lang (en-US)']) expect(text).toContain(part);
  });

  const reads = canRead ? it : it.skip;
  reads('shows patient, decisions and provider', async () => {
    const { db, newId, now } = harness.domain;
    const times = { createdAt: now(), updatedAt: now() };
    const provider = { id: newId(), tenantId: partner.tenantId, reviewerRef: reviewer, npi: '1234567893' };
    await db.prisma.provider.createMany({ data: { ...provider, name: 'Ada Lane', isActive: true, ...times } });
    const patientId = await newPatient(harness, partner, { firstName: 'Łucja', lastName: 'Ševčenko' });
    const encounter = await completedEncounter(harness, partner, { patientId });
    const { encounter_id, gfe_no, gfe_data } = encounter;
    const text = await textOf(encounter_id);
    const person = ['Łucja Ševčenko', '1990-06-30'];
    const review = [gfe_data[0].category_name, 'Approved', 'Ada Lane', reviewer];
    for (const part of [`Good Faith Estimate ${gfe_no}`, ...person, ...review]) expect(text).toContain(part);
    expect(text).not.toContain('NO LONGER');
  });

  reads('marks approvals that were ended by a denial, by time or by a revocation', async () => {
    const encounter = await completedEncounter(harness, partner);
    const { encounter_id, clinicId, patientId } = encounter;
    const again = { clinicId, patientId, treatmentIds: encounter.treatmentIds };
    await reviewed(harness, partner, await newEncounter(harness, partner, again), deny);
    expect(await textOf(encounter_id)).toMatch(/NO LONGER IN FORCE[^]*Superseded by a later decision/);
    const other = await completedEncounter(harness, partner);
    const { validUntil } = other.gfe_data[0];
    const expired = await atTime(harness, partner, validUntil, ({ token }) => textOf(other.encounter_id, token));
    expect(expired).toMatch(/NO LONGER IN FORCE[^]*Expired on/);
    const third = await revoked(harness, partner, await completedEncounter(harness, partner));
    expect(await textOf(third.encounter_id)).toMatch(/NO LONGER IN FORCE[^]*Revoked on/);
  });

  const changed = "The patient's name or birth date has changed since the review.";
  const guardian = { name: 'Rosa Miller', relation: 'mother', phone: '5125550143' };
  const update = (patientId: string, json: object) =>
    call(harness, `PATCH /clients/${patientId}`, { token: partner.token, json });

  reads(
    'shows name, birth date and guardian as of the review, and says so if name or birth date have changed since',
    async () => {
      const patientId = await newPatient(harness, partner, { lastName: 'Miller', guardian });
      const { encounter_id } = await completedEncounter(harness, partner, { patientId });
      const identity = [/Patient +Jane Miller/, /Born +1990-06-30/, /Guardian +Rosa Miller, mother/];
      await update(patientId, { guardian: { ...guardian, name: 'Ann Smith' }, notes: 'Moved.' });
      const before = await textOf(encounter_id);
      for (const part of identity) expect(before).toMatch(part);
      expect(before).not.toContain('has changed');
      await update(patientId, { lastName: 'Smith' });
      const after = await textOf(encounter_id);
      for (const part of [...identity, changed]) expect(after).toMatch(part);
      expect(after).not.toContain('Smith');
      await update(patientId, { lastName: 'Miller', dateOfBirth: '1990-06-29' });
      expect(await textOf(encounter_id)).toContain(changed);
    },
  );

  reads('lists the treatments that an approval excepts', async () => {
    const group = await newCategory(harness, partner);
    const names = ['Botox 50 units', 'Botox 100 units'];
    const products = names.map((name) => newProduct(harness, partner, { ...group, name }));
    const [kept, declined] = await Promise.all(products);
    const encounter = await newEncounter(harness, partner, { treatmentIds: [kept, declined] });
    const except = () => ({ decision: 'approved', exceptTreatmentIds: [declined] });
    const { encounter_id } = await reviewed(harness, partner, encounter, except);
    const text = await textOf(encounter_id);
    expect(text).toMatch(/^Botox 50 units +Approved/m);
    expect(text).toMatch(/^Botox 100 units +Not approved/m);
  });

  reads('has the requested page size and, in a sandbox only, the watermark SANDBOX', async () => {
    const { encounter_id } = await completedEncounter(harness, partner);
    const sizes = { '': '[0 0 612 792]', '?paper=letter': '[0 0 612 792]', '?paper=a4': '[0 0 595.28 841.89]' };
    for (const [query, box] of Object.entries(sizes)) {
      const { text } = await call(harness, `GET /encounters/${encounter_id}/certificate${query}`, {
        token: partner.token,
      });
      expect(text).toContain(`/MediaBox ${box}`);
    }
    expect(await textOf(encounter_id)).not.toContain('SANDBOX');
    const sandbox = await newPartner(harness, 'sandbox');
    const { encounter_id: own } = await completedEncounter(harness, sandbox);
    // The letters of the watermark have a line each.
    expect(await textOf(own, sandbox.token, '-raw')).toMatch(/^SANDBOX – not[^]*^S\nA\nN\nD\nB\nO\nX$/m);
  });

  reads.each([
    ['Pacific/Kiritimati', 14],
    ['Pacific/Pago_Pago', -11],
  ])('shows times in UTC and in the zone of the clinic, such as %s', async (timezone, offset) => {
    const clinicId = await newClinic(harness, partner, { places: [{ state: 'TX', timezone }] });
    const { encounter_id, gfe_data } = await completedEncounter(harness, partner, { clinicId });
    const minute = (time: number) => new Date(time).toISOString().slice(0, 16).replace('T', ' ');
    const decided = Date.parse(gfe_data[0].decidedAt);
    const text = (await textOf(encounter_id)).replace(/\s+/g, ' ');
    expect(text).toContain(`on ${minute(decided)} UTC (${minute(decided + offset * 3_600_000)} local time)`);
    expect(text).toContain(`Local time ${timezone}`);
  });

  reads('keeps the word order of Arabic names, and explains the box for a character that cannot be shown', async () => {
    const note = 'A box stands for a character that this document cannot show.';
    const textFor = async (changes: object): Promise<string> => {
      const patientId = await newPatient(harness, partner, changes);
      return textOf((await completedEncounter(harness, partner, { patientId })).encounter_id);
    };
    const arabic = await textFor({ firstName: 'محمد', lastName: 'الهاشمي' });
    expect(arabic).toContain('محمد الهاشمي');
    expect(arabic).not.toContain(note);
    expect(await textFor({ firstName: '小明', lastName: '王' })).toContain(note);
  });

  reads('shows a long name in full, and continues on numbered pages', async () => {
    const lastName = `${'x'.repeat(90)}\nApproved`;
    const patientId = await newPatient(harness, partner, { lastName });
    const products = Array.from({ length: 20 }, () => newProduct(harness, partner));
    const treatmentIds = await Promise.all(products);
    const { encounter_id, gfe_no } = await completedEncounter(harness, partner, { patientId, treatmentIds });
    const text = await textOf(encounter_id);
    const pages = text.split('\f').filter((page) => page !== '');
    expect(pages.length).toBeGreaterThan(1);
    pages.forEach((page, index) => expect(page).toContain(`${gfe_no}, page ${index + 1} of ${pages.length}`));
    expect(text.replace(/\s+/g, '')).toContain(`PatientJane${'x'.repeat(90)}ApprovedBorn`);
    expect(text.match(/ Approved +Valid/g)).toHaveLength(20);
    expect((await get(encounter_id)).text.match(/\/Type \/Page\b/g)).toHaveLength(pages.length);
  });
});
