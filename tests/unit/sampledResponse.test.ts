import { sampled } from '../../src/http/endpoint/validation.js';

const answerOf = (data: unknown) => ({ status: 200, body: { data, meta: { total: 1 } } });

it('the sampled check of a response validates four elements of a long list, including the first, and all other members of the response', () => {
  const long = Array.from({ length: 100 }, (_, index) => index);
  expect(sampled(answerOf(long))).toEqual(answerOf([0, 25, 50, 75]));
  expect(sampled(answerOf(long.slice(0, 5)))).toEqual(answerOf([0, 1, 2, 3]));
});

it('the sampled check of a response validates short lists and other bodies in full', () => {
  for (const answer of [answerOf([1, 2]), answerOf({}), { status: 204, body: null }, { status: 200, body: 'text' }]) {
    expect(sampled(answer)).toBe(answer);
  }
});

it('the sampled check of a file lists none of its bytes, which would block all requests for milliseconds', () => {
  const ownKeys = (): never => {
    throw new Error('the bytes were listed');
  };
  const answer = { status: 200, body: new Proxy(new Uint8Array(9), { ownKeys }) };
  expect(sampled(answer)).toBe(answer);
});
