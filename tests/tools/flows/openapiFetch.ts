import createClient from 'openapi-fetch';
import { example, type Target } from './example.ts';
import type { paths } from './openapiFetch/schema.ts';

export async function flow({ baseUrl, clientId, clientSecret }: Target): Promise<string> {
  const client = createClient<paths>({ baseUrl });
  const body = { grant_type: 'client_credentials' as const, client_id: clientId, client_secret: clientSecret };
  const token = await client.POST('/oauth/token', { body });
  client.use({
    onRequest({ request }) {
      request.headers.set('Authorization', `Bearer ${token.data?.access_token}`);
    },
  });
  const clinics = await client.GET('/clinics', { params: { query: { search: example.clinic, isActive: true } } });
  const products = await client.GET('/tenants/products', { params: { query: { search: example.treatment } } });
  const patient = await client.POST('/clients', { body: example.patient('openapi-fetch') });
  const [clinic] = clinics.data?.data ?? [];
  const [product] = products.data?.data ?? [];
  if (!clinic || !product || !patient.data) throw new Error(JSON.stringify([clinics, products, patient]));
  const encounter = await client.POST('/encounters', {
    body: { ...example.review, clinicId: clinic.id, patientId: patient.data.user_id, treatmentIds: [product.id] },
  });
  const encounter_id = encounter.data?.encounter_id ?? 0;
  const stored = await client.GET('/encounters/{encounter_id}', { params: { path: { encounter_id } } });
  const events = await client.GET('/events');
  const later = (events.data?.data ?? []).filter(({ type }) => type === example.laterType);
  return `${stored.data?.gfe_no} ${stored.data?.status} ${later.length}`;
}
