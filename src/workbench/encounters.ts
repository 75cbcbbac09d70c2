import { badge, button, element, moment, notify, show, table } from './page.js';
import type { Session } from './session.js';

/** Address of delivery for new encounters, without which their orders could not be shipped. */
const SHIP_TO = {
  ...{ name: 'Workbench', address1: '500 Congress Avenue', city: 'Austin' },
  ...{ state: 'TX', postal: '78701', country: 'US' },
} as const;

/** Lists the latest encounters. */
export async function showEncounters(session: Session): Promise<void> {
  const { data } = await session.client.get('/encounters', { params: { query: { limit: 20 } } });
  const names = await Promise.all(data.map(({ patientId }) => nameOf(session, patientId)));
  const rows = data.map(({ encounter_id, gfe_no, status, createdAt }, index) => [
    button(gfe_no, () => session.show(encounter_id)),
    names[index] ?? '',
    badge(status),
    moment(createdAt),
  ]);
  show('encounters', table('Latest encounters', ['Number', 'Patient', 'Status', 'Created'], rows));
}

const names = new Map<string, Promise<string>>();
/** The name of a patient; the id if the API client may not read it. */
export function nameOf({ client }: Session, id: string): Promise<string> {
  const read = async (): Promise<string> => {
    const { firstName, lastName } = await client.get('/clients/{id}', { params: { path: { id } } });
    return `${firstName} ${lastName}`;
  };
  const name = names.get(id) ?? read().catch(() => id);
  names.set(id, name);
  return name;
}

/** Offers to create an encounter for a patient, at a clinic, with treatments of the sandbox. */
export async function offerEncounter(session: Session): Promise<void> {
  const { client } = session;
  const query = { limit: 100 };
  const [clinics, products] = await Promise.all([
    client.get('/clinics', { params: { query } }),
    client.get('/tenants/products', { params: { query: { ...query, isActive: true } } }),
  ]);
  // One of the patients that every sandbox has.
  const email = element('input', { type: 'email', value: 'jane.miller@example.com', required: true });
  const clinic = choice(
    clinics.data.filter(({ isActive }) => isActive).map(({ id, displayName }) => [id, displayName]),
  );
  const treatments = products.data.map(({ id, name }, index) => {
    const box = element('input', { type: 'checkbox', value: id, checked: index === 0 });
    return { box, label: element('label', {}, box, ` ${name}`) };
  });
  const create = async (): Promise<void> => {
    const found = await client.get('/clients', { params: { query: { email: email.value } } });
    const [patient] = found.data;
    if (!patient) throw new Error(`No patient has the e-mail ${email.value}.`);
    const body = {
      patientId: patient.user_id,
      clinicId: clinic.value,
      treatmentIds: treatments.filter(({ box }) => box.checked).map(({ box }) => box.value),
      reviewType: 'asynchronous',
      serviceQueue: 'provider_network',
      shipTo: SHIP_TO,
    } as const;
    const { encounter_id, gfe_no } = await client.post('/encounters', { body });
    notify(`${gfe_no} was created.`);
    await session.show(encounter_id);
    await session.refresh();
  };
  const legend = element('legend', {}, 'Treatments');
  show(
    'new-encounter',
    element('label', {}, "Patient's e-mail ", email),
    element('label', {}, 'Clinic ', clinic),
    element('fieldset', {}, legend, ...treatments.map(({ label }) => label)),
    button('Create an encounter', create),
  );
}

const choice = (options: readonly (readonly [value: string, text: string])[]): HTMLSelectElement =>
  element('select', {}, ...options.map(([value, text]) => element('option', { value }, text)));
