import { example, type Target } from './example.ts';
import {
  createEncounter,
  createPatient,
  getEncounter,
  issueToken,
  listClinics,
  listEvents,
  listProducts,
} from './orval/index.ts';

export async function flow({ clientId, clientSecret }: Target): Promise<string> {
  const credentials = { client_id: clientId, client_secret: clientSecret };
  const token = await issueToken({ grant_type: 'client_credentials', ...credentials });
  if (token.status !== 200) throw new Error(`token ${token.status}`);
  const options = { headers: { Authorization: `Bearer ${token.data.access_token}` } };
  const clinics = await listClinics({ search: example.clinic, isActive: true }, options);
  const products = await listProducts({ search: example.treatment }, options);
  const patient = await createPatient(example.patient('orval'), options);
  if (clinics.status !== 200 || products.status !== 200 || patient.status !== 201) throw new Error('call refused');
  const [clinic] = clinics.data.data;
  const [product] = products.data.data;
  if (!clinic || !product) throw new Error('no clinic or product as in example.ts: correct it');
  const ids = { clinicId: clinic.id, patientId: patient.data.user_id, treatmentIds: [product.id] };
  const encounter = await createEncounter({ ...example.review, ...ids }, options);
  if (encounter.status !== 201) throw new Error(`encounter ${encounter.status}`);
  const stored = await getEncounter(encounter.data.encounter_id, options);
  if (stored.status !== 200) throw new Error(`encounter ${stored.status}`);
  const events = await listEvents({}, options);
  if (events.status !== 200) throw new Error(`events ${events.status}`);
  const later = events.data.data.filter(({ type }) => type === example.laterType);
  return `${stored.data.gfe_no} ${stored.data.status} ${later.length}`;
}
