import { setConfig } from '@kubb/plugin-client/clients/fetch';
import { example, type Target } from './example.ts';
import { createEncounter } from './kubb/clients/createEncounter.ts';
import { createPatient } from './kubb/clients/createPatient.ts';
import { getEncounter } from './kubb/clients/getEncounter.ts';
import { issueToken } from './kubb/clients/issueToken.ts';
import { listClinics } from './kubb/clients/listClinics.ts';
import { listEvents } from './kubb/clients/listEvents.ts';
import { listProducts } from './kubb/clients/listProducts.ts';

export async function flow({ clientId, clientSecret }: Target): Promise<string> {
  // The generated client does not set the Content-Type.
  const json = { 'Content-Type': 'application/json' };
  setConfig({ headers: json });
  const credentials = { client_id: clientId, client_secret: clientSecret };
  const token = await issueToken({ grant_type: 'client_credentials', ...credentials });
  setConfig({ headers: { ...json, Authorization: `Bearer ${token.access_token}` } });
  const clinics = await listClinics({ search: example.clinic, isActive: true });
  const products = await listProducts({ search: example.treatment });
  const patient = await createPatient(example.patient('kubb'));
  const [clinic] = clinics.data;
  const [product] = products.data;
  if (!clinic || !product) throw new Error('no clinic or product as in example.ts: correct it');
  const ids = { clinicId: clinic.id, patientId: patient.user_id, treatmentIds: [product.id] };
  const encounter = await createEncounter({ ...example.review, ...ids });
  const stored = await getEncounter(encounter.encounter_id);
  const events = await listEvents();
  const later = events.data.filter(({ type }) => type === example.laterType);
  return `${stored.gfe_no} ${stored.status} ${later.length}`;
}
