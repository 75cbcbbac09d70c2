import { type PatientViewer } from '../../../src/domain/access/limits.js';
import { visiblePatient, visiblePatients } from '../../../src/domain/patients/visibility.js';
import { newClient, newClinic, newDocument, newEncounter, newPartner, newPatient } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';

const harness = await openHarness();
const { db } = harness.domain;

it('models and statements show a limited client the same patients: its own, those of its clinics, and those of its uploads', async () => {
  const partner = await newPartner(harness);
  const { tenantId } = partner;
  const clinicId = await newClinic(harness, partner);
  const limited = await newClient(harness, tenantId, ['write:client'], [clinicId]);
  const { id: apiClientId } = await db.prisma.apiClient.findFirstOrThrow({
    where: { tenantId, clientId: limited.clientId },
  });
  const patient = () => newPatient(harness, partner);
  const [ofOther, ofOtherClinic, ofClinic, ofUpload] = [
    await patient(),
    await patient(),
    await patient(),
    await patient(),
  ];
  const own = await newPatient(harness, { ...partner, ...limited });
  await newPatient(harness, await newPartner(harness));
  await newEncounter(harness, partner, { patientId: ofClinic, clinicId });
  await newEncounter(harness, partner, { patientId: ofOtherClinic });
  await newDocument(harness, limited, ofUpload);

  const all = [ofOther, ofOtherClinic, ofClinic, ofUpload, own];
  const idsFor = async (allowedClinicIds: readonly string[] | null) => {
    const viewer: PatientViewer = { tenantId, apiClientId, allowedClinicIds };
    const byModel = await db.prisma.patient.findMany({ where: visiblePatients(viewer), orderBy: { id: 'asc' } });
    const byStatement = await db.of(tenantId).rows<{ id: string }>`
      SELECT id FROM client WHERE tenant_id = ${tenantId} AND ${visiblePatient(viewer, 'client')} ORDER BY id`;
    return [byModel, byStatement].map((rows) => rows.map(({ id }) => id).filter((id) => all.includes(id)));
  };
  for (const [clinics, visible] of [
    [null, all],
    [[clinicId], [ofClinic, ofUpload, own]],
    [[apiClientId], [ofUpload, own]],
  ] as const) {
    expect(await idsFor(clinics)).toEqual([visible, visible]);
  }
});
