import { dispense } from '../../../src/domain/orders/dispensing.js';
import { approved } from './approved.js';
import type { Life } from './life.js';
import { problemOf, refusalOf } from './world.js';

/** A life whose order has a cancelled line between two held ones. */
function heldAndCancelled(): Life {
  const life = approved();
  life.fulfil(0, 'cancelled', ['filler']);
  life.revoke(0);
  return life;
}

it('a payment is refused when every line is held or cancelled, and the problem names the held lines', () => {
  const life = heldAndCancelled();
  expect(refusalOf(() => life.pay(0, '1.00'))).toEqual(['approval_ended', '#/lines/0', '#/lines/2']);
});

it('recordFulfilment without treatments answers approval_ended about the held lines, and skips the cancelled one', () => {
  const life = heldAndCancelled();
  expect(refusalOf(() => life.fulfil(0, 'accepted'))).toEqual(['approval_ended', '#/lines/0', '#/lines/2']);
  life.fulfil(0, 'cancelled');
  expect(life.order(0).orderStatus).toBe('cancelled');
  expect(problemOf(() => life.fulfil(0, 'accepted'))?.extra).toEqual({ current_status: 'cancelled' });
});

it('getDispensing answers approval_ended about the held lines, and invalid_state if every line is cancelled', async () => {
  const dispensed = (life: Life) => dispense({} as never, life.order(0));
  const errors = [{ pointer: '#/lines/0' }, { pointer: '#/lines/2' }];
  const life = heldAndCancelled();
  await expect(dispensed(life)).rejects.toMatchObject({ code: 'approval_ended', errors });
  life.fulfil(0, 'cancelled');
  const cancelled = { code: 'invalid_state', extra: { current_status: 'cancelled' } };
  await expect(dispensed(life)).rejects.toMatchObject(cancelled);
});
