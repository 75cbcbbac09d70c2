import { operationOf, type ContractOperation, type failureExamples } from './contract.js';
import type { Answer } from './http.js';

/** A request of the operation that the service answers with a failure. */
export type Provocation = (operation: ContractOperation) => Promise<Answer>;

type Failure = (typeof failureExamples)[number];

/** One example serves several operations, whose own faults are others. */
const showsItsOwnFaults = ({ name, operationId }: Failure): boolean =>
  name !== 'validation_failed' || ['createPatient', 'listClinics'].includes(operationId);

/** Fails unless the service answers as the example of the failure shows. */
/** @param provocations of any operation by the code, or of one operation by `<operationId> <code>` */
export async function expectProvoked(
  failure: Failure,
  provocations: Readonly<Record<string, Provocation>>,
): Promise<void> {
  const { operationId, status, name, example } = failure;
  const provoke = provocations[`${operationId} ${name}`] ?? provocations[name];
  if (!provoke) throw new Error(`no request is known that ${operationId} answers with ${name}`);
  const answer = await provoke(operationOf(operationId));
  expect({ text: answer.text, status: answer.status }).toMatchObject({ status });
  const { error } = example;
  if (error) return expect(answer.body).toMatchObject({ error, error_description: expect.any(String) });
  // Of a failure of the service nothing is told but what the example shows.
  if (status >= 500) expect(answer.body).toEqual(example);
  // A detail may be more precise than that of an example which several operations share.
  const { detail: _detail, errors = [], ...shown } = example;
  expect(answer.body).toMatchObject(shown);
  if ('errors' in example) expect(answer.body.errors).toEqual(showsItsOwnFaults(failure) ? errors : expect.any(Array));
}

export type Answers = ReadonlyMap<string, Answer>;

/** A failure that is dear to bring about is brought about once, for all operations at the same time. */
export function together(all: () => Promise<Answers>): Provocation {
  let asked: Promise<Answers> | undefined;
  return async ({ operationId }) => {
    const answer = (await (asked ??= all())).get(operationId);
    if (!answer) throw new Error(`${operationId} was not asked`);
    return answer;
  };
}
