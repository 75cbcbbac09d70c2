import { showClock } from './clock.js';
import { showEncounter } from './encounter.js';
import { offerEncounter, showEncounters } from './encounters.js';
import { followEvents } from './events.js';
import { attempt, fill, notify, part, refreshTimes } from './page.js';
import { followRequests } from './requests.js';
import { signIn, type Session } from './session.js';
import { showWebhooks } from './webhooks.js';

/** Milliseconds between readings of the event feed, so that events appear within a second. */
const EVENTS_MS = 700;
/** Milliseconds between readings of the log of requests. */
const REQUESTS_MS = 3_000;

const form = part('sign-in') as HTMLFormElement;
const main = document.querySelector('main') as HTMLElement;

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const { clientId, clientSecret } = Object.fromEntries(new FormData(form).entries()) as Record<string, string>;
  enter(clientId, clientSecret);
});
// A local server prints a link with the credentials of its demo. Browsers do not send this part of an address.
const [, demoId, demoSecret] = /^#(\w+):([\w-]+)$/.exec(location.hash) ?? [];
if (demoId) history.replaceState(null, '', location.pathname);
if (demoId) enter(demoId, demoSecret);

function enter(clientId = '', clientSecret = ''): void {
  void attempt(async () => {
    const client = await signIn(clientId, clientSecret);
    form.reset();
    form.hidden = true;
    main.hidden = part('tabs').hidden = part('sign-out').hidden = false;
    await start({
      client,
      open: undefined,
      async show(encounter) {
        this.open = encounter;
        await showEncounter(this);
        // Opens its tab on a narrow page.
        location.hash = 'encounter-part';
        part('encounter-title').focus();
      },
      async refresh() {
        await Promise.all([
          fill('clock', showClock(this)),
          fill('encounters', showEncounters(this)),
          fill('encounter', showEncounter(this)),
          fill('webhooks', showWebhooks(this)),
        ]);
      },
    });
  });
}
// Reload to sign out: the page stores no credentials, so a new page has none.
part('sign-out').addEventListener('click', () => location.reload());

async function start(session: Session): Promise<void> {
  notify('');
  const readEvents = followEvents(session);
  const readRequests = followRequests(session);
  await Promise.all([
    ...[session.refresh(), fill('new-encounter', offerEncounter(session))],
    ...[attempt(readEvents), attempt(readRequests)],
  ]);
  void repeat(EVENTS_MS, async () => {
    // Show everything again after a new event, which reveals changes made elsewhere.
    if (await readEvents()) await session.refresh();
  });
  void repeat(REQUESTS_MS, readRequests);
  setInterval(refreshTimes, REQUESTS_MS);
}

/** Repeats work while the page is visible: never twice at a time, and less often after a failure. */
async function repeat(ms: number, work: () => Promise<void>): Promise<void> {
  for (let wait = ms; ;) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = document.hidden || (await attempt(work)) ? ms : 10 * ms;
  }
}
