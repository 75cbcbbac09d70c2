import { example, type Target } from './example.ts';
import { client } from './heyApi/client.gen.ts';
import {
  createEncounter,
  createPatient,
  getEncounter,
  issueToken,
  listClinics,
  listEvents,
  listProducts,
} from './heyApi/sdk.gen.ts';

export async function flow({ baseUrl, clientId, clientSecret }: Target): Promise<string> {
  client.setConfig({ baseUrl, throwOnError: true });
  const body = { grant_type: 'client_credentials' as const, client_id: clientId, client_secret: clientSecret };
  const token = await issueToken({ body, throwOnError: true });
  client.setConfig({ auth: token.data.access_token });
  const clinics = await listClinics({ query: { search: example.clinic, isActive: true }, throwOnError: true });
  const products = await listProducts({ query: { search: example.treatment }, throwOnError: true });
  const patient = await createPatient({ body: example.patient('hey-api'), throwOnError: true });
  const [clinic] = clinics.data.data;
  const [product] = products.data.data;
  if (!clinic || !product) throw new Error('no clinic or product as in example.ts: correct it');
  const encounter = await createEncounter({
    body: { ...example.review, clinicId: clinic.id, patientId: patient.data.user_id, treatmentIds: [product.id] },
    throwOnError: true,
  });
  const { encounter_id } = encounter.data;
  const stored = await getEncounter({ path: { encounter_id }, throwOnError: true });
  const events = await listEvents({ throwOnError: true });
  const later = events.data.data.filter(({ type }) => type === example.laterType);
  return `${stored.data.gfe_no} ${stored.data.status} ${later.length}`;
}
