import { resetCast, readsFirst, seedCast } from '../support/cast.js';
import { answerFaults, operations } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { exampleRequests, type ExampleRequest } from '../support/exampleRequests.js';
import type { Partner } from '../support/factories.js';
import { useHarness } from '../support/harness.js';
import { releasedContracts } from '../support/released.js';

// Partners keep the contract that they started with: requests that it shows succeed, with responses that it describes.

const harness = useHarness();
let partner: Partner;
beforeAll(async () => {
  partner = await seedCast(harness);
});

const isRead = ({ operation }: ExampleRequest): boolean => operation.method === 'GET';

/** The present contract, too, and equal requests of several contracts as one. */
const requests = new Map<string, [ExampleRequest, ...ExampleRequest[]]>();
for (const { version, operations: shown } of [...releasedContracts, { version: 'present', operations }]) {
  for (const request of exampleRequests(shown)) {
    const titled = { ...request, title: `${version} ${request.title}` };
    const equal = requests.get(request.content);
    if (equal) equal.push(titled);
    else requests.set(request.content, [titled]);
  }
}

it(
  'every example request of every released contract succeeds, and the response conforms to that contract',
  () =>
    everyCase(
      readsFirst([...requests.values()], ([request]) => isRead(request)),
      (equal) => equal.map(({ title }) => title).join(', '),
      async (equal) => {
        if (!isRead(equal[0])) await resetCast(harness, partner);
        const answer = await equal[0].send(harness, partner);
        const { status, headers, text } = answer;
        const header = (name: string): string | undefined => headers.get(name) ?? undefined;
        const contentType = String(headers.get('Content-Type'));
        const body: unknown = text === '' ? undefined : answer.body;
        for (const { operation } of equal) {
          expect({ status, text }).toMatchObject({ status: operation.statuses.find((each) => each < 300) });
          expect(answerFaults(operation, { status, contentType, header, body })).toEqual([]);
        }
      },
    ),
  120_000,
);
