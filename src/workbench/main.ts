import { showClock } from './clock.js';
import { showEncounter } from './encounter.js';
import { offerEncounter, showEncounters } from './encounters.js';
import { followEvents } from './events.js';
import { attempt, fill, notify, part } from './page.js';
import { followRequests } from './requests.js';
import { signIn, type Session } from './session.js';
import { showWebhooks } from './webhooks.js';

/** How often the feed is read: an event is seen within a second. */
const EVENTS_MS = 700;
/** How often the log of requests is read. */
const REQUESTS_MS = 3_000;

const form = part('sign-in') as HTMLFormElement;
const main = document.querySelector('main') as HTMLElement;

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const { clientId, clientSecret } = Object.fromEntries(new FormData(form).entries()) as Record<string, string>;
  void attempt(async () => {
    const client = await signIn(clientId ?? '', clientSecret ?? '');
    form.reset();
    form.hidden = true;
    main.hidden = part('sign-out').hidden = false;
    await start({
      client,
      open: undefined,
      async show(encounter) {
        this.open = encounter;
        await showEncounter(this);
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
});
// Nothing is kept: a new page has no credentials.
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
    // What changed the sandbox elsewhere is seen by its events.
    if (await readEvents()) await session.refresh();
  });
  void repeat(REQUESTS_MS, readRequests);
}

/** Repeats while the page is visible, never twice at a time, and less often after a failure. */
async function repeat(ms: number, work: () => Promise<void>): Promise<void> {
  for (let wait = ms; ;) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = document.hidden || (await attempt(work)) ? ms : 10 * ms;
  }
}
