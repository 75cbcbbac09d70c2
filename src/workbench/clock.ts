import { button, buttons, element, notify, sandbox, show } from './page.js';
import type { Session } from './session.js';

const DAY = 86_400;
const STEPS = { '+ 1 day': DAY, '+ 30 days': 30 * DAY, '+ 1 year': 365 * DAY };

/** Shows the sandbox's time, and offers to move it. */
export async function showClock(session: Session): Promise<void> {
  const { client } = session;
  const { now, offsetSeconds } = await client.get('/sandbox/clock');
  const move = (seconds: number) => async () => {
    await client.put('/sandbox/clock', { body: { offsetSeconds: offsetSeconds + seconds } });
    await session.refresh();
  };
  const reset = async (): Promise<void> => {
    if (!confirm('Remove everything that was created in this sandbox, and set its clock back?')) return;
    await client.post('/sandbox/reset');
    session.open = undefined;
    await session.refresh();
    notify('The sandbox is as it was at first.');
  };
  sandbox.aheadMs = offsetSeconds * 1000;
  show(
    'clock',
    element('time', { datetime: now }, `${now.slice(0, 16).replace('T', ' ')} UTC`),
    buttons(
      ...Object.entries(STEPS).map(([text, seconds]) => button(text, move(seconds))),
      button('Reset the sandbox', reset),
    ),
  );
}
