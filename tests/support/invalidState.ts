import type { Answer } from './http.js';
import { expectProblem } from './refusals.js';

/** Asserts the refusal of a record in this status. */
export function expectInvalidState(answer: Answer, currentStatus: string): void {
  expectProblem(answer, 409, 'invalid_state');
  expect(answer.body.current_status).toBe(currentStatus);
}
