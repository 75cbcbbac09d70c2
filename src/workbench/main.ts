import { showClock } from './clock.js';
import { showEncounter } from './encounter.js';
import { offerEncounter, showEncounters } from './encounters.js';
import { followEvents } from './events.js';
import { attempt, notify, part } from './page.js';
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
        await Promise.all([showClock(this), showEncounters(this), showEncounter(this), showWebhooks(this)]);
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
  await Promise.all([session.refresh(), offerEncounter(session), readEvents(), readRequests()]);
  repeat(EVENTS_MS, async () => {
    // What changed the sandbox elsewhere is seen by its events.
    if (await readEvents()) await session.refresh();
  });
  repeat(REQUESTS_MS, readRequests);
}

/** Repeats while the page is visible, never twice at a time. */
function repeat(ms: number, work: () => Promise<void>): void {
  setTimeout(async () => {
    if (!document.hidden) await attempt(work);
    repeat(ms, work);
  }, ms);
}
