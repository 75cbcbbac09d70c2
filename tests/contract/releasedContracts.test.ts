import { resetCast, readsFirst, seedCast } from '../support/cast.js';
import { answerFaults } from '../support/contract.js';
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

it.each(releasedContracts)(
  'answers every example request of contract $version as that contract says',
  ({ operations }) =>
    everyCase(
      readsFirst(exampleRequests(operations), isRead),
      ({ title }) => title,
      async (request) => {
        if (!isRead(request)) await resetCast(harness, partner);
        const answer = await request.send(harness, partner);
        const { status, headers, text } = answer;
        expect({ status, text }).toMatchObject({ status: request.operation.statuses.find((each) => each < 300) });
        const header = (name: string): string | undefined => headers.get(name) ?? undefined;
        const contentType = String(headers.get('Content-Type'));
        const body: unknown = text === '' ? undefined : answer.body;
        expect(answerFaults(request.operation, { status, contentType, header, body })).toEqual([]);
      },
    ),
  120_000,
);
