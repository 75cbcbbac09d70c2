import { sampled } from '../../src/http/responseCheck.js';

const answerOf = (data: unknown) => ({ status: 200, body: { data, meta: { total: 1 } } });

it('of a list that is long ten elements are checked, the first among them, with all that stands beside it', () => {
  const long = Array.from({ length: 100 }, (_, index) => index);
  expect(sampled(answerOf(long))).toEqual(answerOf([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]));
  expect(sampled(answerOf(long.slice(0, 11)))).toEqual(answerOf([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
});

it('all else is checked as it is', () => {
  for (const answer of [answerOf([1, 2]), answerOf({}), { status: 204, body: null }, { status: 200, body: 'text' }]) {
    expect(sampled(answer)).toBe(answer);
  }
});
