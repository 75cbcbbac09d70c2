import { operationOf, type ContractOperation, type failureExamples } from './contract.js';
import type { Answer, CallOptions } from './http.js';

/** A request of the operation that the service answers with a failure. */
export type Provocation = (operation: ContractOperation) => Promise<Answer>;

export type Change = () => Promise<unknown>;

/** Members of a request that differ from those of the example. */
export type Body = Readonly<Record<string, unknown>>;

/** Sends the example of an operation with changes. */
export type Send = (
  operation: ContractOperation,
  options?: { readonly query?: Body; readonly body?: Body } & CallOptions,
) => Promise<Answer>;

/** Provokes after a change to the records, which it undoes. */
export type After = (change: Change, provoke: Provocation) => Provocation;

/** Provokes between a change and its reversal. */
export const whileChanged =
  (change: Change, restore: Change, provoke: Provocation): Provocation =>
  async (operation) => {
    await change();
    const answer = await provoke(operation);
    await restore();
    return answer;
  };

/**
 * Fails unless the service answers as the example of the failure shows.
 * @param provocations of any operation by the code, or of one operation by `<operationId> <code>`
 */
export async function expectProvoked(
  failure: (typeof failureExamples)[number],
  provocations: Readonly<Record<string, Provocation>>,
): Promise<void> {
  const { operationId, status, name, example } = failure;
  const provoke = provocations[`${operationId} ${name}`] ?? provocations[name];
  if (!provoke)
    throw new Error(
      `no provocation makes ${operationId} answer with ${name}: add one to tests/contract/exampleErrors.test.ts`,
    );
  const answer = await provoke(operationOf(operationId));
  expect({ text: answer.text, status: answer.status }).toMatchObject({ status });
  const { error } = example;
  if (error) return expect(answer.body).toMatchObject({ error, error_description: expect.any(String) });
  // An internal failure reveals only the members of the example.
  if (status >= 500) expect(answer.body).toEqual(example);
  // A detail may be more precise than that of an example that operations share.
  const { detail: _detail, ...shown } = example;
  expect(answer.body).toMatchObject(shown);
}

export type Answers = ReadonlyMap<string, Answer>;

/** Provokes an expensive failure once, for all operations at the same time. */
export function together(all: () => Promise<Answers>): Provocation {
  let asked: Promise<Answers> | undefined;
  return async ({ operationId }) => {
    const answer = (await (asked ??= all())).get(operationId);
    if (!answer) throw new Error(`together() sent no request of ${operationId}: add one`);
    return answer;
  };
}
