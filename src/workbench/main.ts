import type { Client } from '../client/client.js';
import { clock } from './clock.js';
import { fill } from './components.js';
import { openEncounter } from './encounter.js';
import { createEncounter, encounters, treatments } from './encounters.js';
import { readEvents } from './events.js';
import { attempt, notify, onSubmit, part } from './page.js';
import { requests } from './requests.js';
import { kept, signIn, signOut, type Credentials, type Session } from './session.js';
import { webhooks } from './webhooks.js';

/** Milliseconds between readings of the event feed, so that events appear within a second. */
const EVENTS_MS = 500;
/** Readings of the event feed until everything is shown again, because deliveries and requests make no event. */
const READINGS = 8;

/** The parts of the page that a refresh fills, each with the function that reads its content. */
const PARTS = { clock, encounters, encounter: openEncounter, requests, webhooks };

// A local server prints a link with the credentials of its demo. Browsers do not send the fragment of an address.
const [, clientId = '', clientSecret = ''] = /^#(\w+):([\w-]+)$/.exec(location.hash) ?? [];
const given = clientId ? { clientId, clientSecret } : kept();
if (clientId) history.replaceState(null, '', location.pathname);
const form = part('sign-in');
form.hidden = given !== null;
if (given) void attempt(() => enter(given)).then((isIn) => (form.hidden = isIn));
onSubmit('sign-in', (fields) => enter(Object.fromEntries(fields) as unknown as Credentials));
part('sign-out').addEventListener('click', () => {
  signOut();
  location.reload();
});

async function enter(credentials: Credentials): Promise<void> {
  const session = sessionOf(await signIn(credentials));
  form.hidden = true;
  for (const id of ['parts', 'tabs', 'sign-out']) part(id).hidden = false;
  notify('');
  await Promise.all([session.refresh(), fill('treatments', treatments(session)), attempt(() => readEvents(session))]);
  onSubmit('new-encounter', (fields) => createEncounter(session, fields));
  let readings = 0;
  void repeat(EVENTS_MS, async () => {
    readings += 1;
    // Show everything again after a new event, which reveals changes made elsewhere.
    if ((await readEvents(session)) || readings % READINGS === 0) await session.refresh();
  });
}

function sessionOf(client: Client): Session {
  return {
    client,
    open: undefined,
    async show(encounter) {
      this.open = encounter;
      await fill('encounter', openEncounter(this));
      // On a narrow page, this opens the encounter's tab.
      location.hash = 'encounter-part';
      part('encounter-title').focus();
    },
    async change(work, text) {
      await work;
      notify(text);
      await this.refresh();
    },
    async refresh() {
      await Promise.all(Object.entries(PARTS).map(([id, contentOf]) => fill(id, contentOf(this))));
    },
  };
}

/** Repeats work while the page is visible: never twice at a time, and less often after a failure. */
async function repeat(ms: number, work: () => Promise<void>): Promise<void> {
  for (let wait = ms; ;) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = document.hidden || (await attempt(work)) ? ms : 10 * ms;
  }
}
