import { Button, sandbox } from './components.js';
import type { Session } from './session.js';

/** Seconds by the text of the button that adds them. */
const STEPS = { '+ 1 day': 86_400, '+ 30 days': 2_592_000, '+ 1 year': 31_536_000 };

/** The sandbox's time, with buttons that move it. */
export async function clock(session: Session) {
  const { client } = session;
  const { now, offsetSeconds } = await client.sandbox.getClock();
  const reset = async (): Promise<void> => {
    if (!confirm('Set the records and the clock of this sandbox back? API clients and webhook endpoints stay.')) return;
    session.open = undefined;
    await session.change(client.sandbox.reset(), 'The sandbox was reset.');
  };
  const move = (text: string, seconds: number) => {
    const body = { offsetSeconds: offsetSeconds + seconds };
    return session.change(client.sandbox.setClock({ body }), `The sandbox's clock was moved: ${text}.`);
  };
  sandbox.aheadMs = offsetSeconds * 1000;
  return (
    <>
      <time dateTime={now}>{now.slice(0, 16).replace('T', ' ')} UTC</time>
      {Object.entries(STEPS).map(([text, seconds]) => (
        <Button text={text} work={() => move(text, seconds)} />
      ))}
      <Button text="Reset the sandbox" work={reset} />
    </>
  );
}
