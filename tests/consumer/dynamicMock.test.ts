import {
  exampleBody,
  operationOf,
  operations,
  requiredHeaders,
  schemaFaults,
  targetOf,
  type ContractOperation,
} from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { call, type Answer } from '../support/http.js';
import { startMock } from '../support/mock.js';

const mock = await startMock('--dynamic');
afterAll(() => mock.stop());

const ask = (operation: ContractOperation): Promise<Answer> =>
  call(mock, targetOf(operation), {
    token: 'anything',
    headers: requiredHeaders(operation),
    ...(operation.requestBody ? { json: exampleBody(operation) } : {}),
  });

it('the dynamic mock answers every operation with its lowest documented status, and with valid JSON if JSON is documented', () =>
  everyCase(
    operations,
    ({ operationId }) => operationId,
    async (operation) => {
      const { status, body } = await ask(operation);
      const { [status]: declared } = operation.responses;
      expect(status).toBe(Number(Object.keys(operation.responses)[0]));
      expect(schemaFaults(declared?.content?.['application/json']?.schema ?? {}, body)).toEqual([]);
    },
  ));

it('the dynamic mock generates a firstName that differs from the example', async () => {
  const { body } = await ask(operationOf('getPatient'));
  expect(body.firstName).toEqual(expect.any(String));
  expect(body.firstName).not.toBe('Jane');
});
