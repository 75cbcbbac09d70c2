import { once } from 'node:events';
import { withTimeLimit } from '../../src/adapters/withTimeLimit.js';
import { collectGarbage } from '../support/collectGarbage.js';

it('a time limit survives a garbage collection', async () => {
  const signal = withTimeLimit(new AbortController().signal, 50);
  const aborted = once(signal, 'abort', { signal: AbortSignal.timeout(5_000) });
  setImmediate(collectGarbage);
  await aborted;
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});

it('a signal with a time limit follows the given one', () => {
  const controller = new AbortController();
  const signal = withTimeLimit(controller.signal, 60_000);
  controller.abort('the caller has gone');
  expect(signal.reason).toBe('the caller has gone');
});
