import { example, type Target } from './example.ts';
import { Api } from './swaggerTypescriptApi/Api.ts';

export async function flow({ baseUrl, clientId, clientSecret }: Target): Promise<string> {
  const securityWorker = (token: string | null) => ({ headers: { Authorization: `Bearer ${token}` } });
  const api = new Api<string>({ baseUrl, securityWorker });
  const credentials = { client_id: clientId, client_secret: clientSecret };
  const token = await api.oauth.issueToken({ grant_type: 'client_credentials', ...credentials });
  api.setSecurityData(token.data.access_token);
  const clinics = await api.clinics.listClinics({ search: example.clinic, isActive: true });
  const products = await api.tenants.listProducts({ search: example.treatment });
  const patient = await api.clients.createPatient(example.patient('swagger-typescript-api'));
  const [clinic] = clinics.data.data;
  const [product] = products.data.data;
  if (!clinic || !product) throw new Error('no clinic or product as in example.ts: correct it');
  const ids = { clinicId: clinic.id, patientId: patient.data.user_id, treatmentIds: [product.id] };
  const encounter = await api.encounters.createEncounter({ ...example.review, ...ids });
  const stored = await api.encounters.getEncounter(encounter.data.encounter_id);
  const events = await api.events.listEvents();
  const later = events.data.data.filter(({ type }) => type === example.laterType);
  return `${stored.data.gfe_no} ${stored.data.status} ${later.length}`;
}
