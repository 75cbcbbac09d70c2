import { badge, Button, show, table, Time } from './components.js';
import { notify } from './page.js';
import { firstPage, type Session } from './session.js';

/** Address of delivery for new encounters, without which their orders could not be shipped. */
const SHIP_TO = {
  ...{ name: 'Workbench', address1: '500 Congress Avenue', city: 'Austin' },
  ...{ state: 'TX', postal: '78701', country: 'US' },
} as const;

/** The latest encounters. */
export async function encounters(session: Session) {
  const { data } = await firstPage(session.client.pages('/encounters', { limit: 20 }));
  const patients = await Promise.all(data.map(({ patientId }) => patientName(session, patientId)));
  const rows = data.map((encounter, index) => ({ ...encounter, patient: patients[index] }));
  return table('Latest encounters', rows, {
    Number: ({ encounter_id, gfe_no }) => <Button text={gfe_no} work={() => session.show(encounter_id)} />,
    Patient: ({ patient }) => patient,
    Status: ({ status }) => badge(status),
    Created: ({ createdAt }) => <Time at={createdAt} />,
  });
}

const names = new Map<string, Promise<string>>();
/** Reads a name, once if that succeeds. @returns the id if the name cannot be read */
function named(id: string, read: () => Promise<string>): Promise<string> {
  const unread = (): string => {
    names.delete(id);
    return id;
  };
  const name = names.get(id) ?? read().catch(unread);
  names.set(id, name);
  return name;
}

export const patientName = ({ client }: Session, id: string): Promise<string> =>
  named(id, async () => {
    const { firstName, lastName } = await client.patients.get({ id });
    return `${firstName} ${lastName}`;
  });

export const clinicName = ({ client }: Session, id: string): Promise<string> =>
  named(id, async () => (await client.clinics.get({ id })).displayName);

/** Shows the clinics of the form for a new encounter. @returns its treatments */
export async function treatments({ client }: Session) {
  const active = { limit: 100, isActive: true };
  const [clinics, products] = await Promise.all([
    firstPage(client.pages('/clinics', active)),
    firstPage(client.pages('/tenants/products', active)),
  ]);
  const clinic = clinics.data.map(({ id, displayName }) => <option value={id}>{displayName}</option>);
  show('clinics', clinic);
  return products.data.map(({ id, name }, index) => (
    <label>
      <input name="treatment" type="checkbox" value={id} defaultChecked={index === 0} /> {name}
    </label>
  ));
}

/** Creates an encounter from the fields of its form, and shows it. */
export async function createEncounter(session: Session, fields: URLSearchParams): Promise<void> {
  const { client } = session;
  const email = fields.get('email') ?? '';
  const { data } = await firstPage(client.pages('/clients', { email }));
  if (!data[0])
    throw new Error(
      `Your client sees no patient with the e-mail ${email}: create one (POST /clients), or enter another.`,
    );
  const body = {
    patientId: data[0].user_id,
    clinicId: fields.get('clinic') ?? '',
    treatmentIds: fields.getAll('treatment'),
    reviewType: 'asynchronous',
    serviceQueue: 'provider_network',
    shipTo: SHIP_TO,
  } as const;
  const { encounter_id, gfe_no } = await client.encounters.create({ body });
  notify(`${gfe_no} was created.`);
  await session.show(encounter_id);
  await session.refresh();
}
