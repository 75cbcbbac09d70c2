import { attackedService, type AttackedService } from './attackedService.js';
import { operations, requiredHeaders, targetOf, type ContractOperation } from './contract.js';
import { call, jsonType, type Answer, type CallOptions } from './http.js';

/** Every operation that takes a body. */
export const bodied = operations.filter(({ requestBody }) => requestBody !== undefined);

/**
 * The values to send to an operation: all for createPatient and for the token endpoint, which also takes forms. Others
 * read bodies with the same code, so each gets one value, in turn.
 */
export function sampleFor<T>(operation: ContractOperation, values: readonly T[]): readonly T[] {
  if (['createPatient', 'issueToken'].includes(operation.operationId)) return values;
  const turn = bodied.indexOf(operation) % values.length;
  return values.slice(turn, turn + 1);
}

/** The token endpoint has one code for all malformed requests (RFC 6749 §5.2). */
export function expectRefusal({ operationId }: ContractOperation, answer: Answer, code: string | RegExp): void {
  const { status, body, text } = answer;
  expect({ text: text.slice(0, 200), status }).toEqual({ text: text.slice(0, 200), status: 400 });
  if (operationId === 'issueToken') expect(body.error).toBe('invalid_request');
  else expect(body.code).toMatch(code);
}

/** An attacked service with functions that send hostile bodies to it. */
export interface BodiesUnderAttack extends AttackedService {
  send(operation: ContractOperation, options: CallOptions): Promise<Answer>;
  /** Sends the body as JSON unless the headers name another type. */
  sendText(operation: ContractOperation, raw: string | Uint8Array<ArrayBuffer>, headers?: object): Promise<Answer>;
  /** Checks every operation that takes a body. */
  everyOperation(check: (operation: ContractOperation) => Promise<void>): Promise<void>;
}

/** {@link attackedService} for tests of bodies. */
export async function bodiesUnderAttack(): Promise<BodiesUnderAttack> {
  const service = await attackedService();
  const send: BodiesUnderAttack['send'] = (operation, { headers, ...options }) =>
    call(service.harness, targetOf(operation), {
      token: service.partner.token,
      headers: { ...requiredHeaders(operation), ...headers },
      ...options,
    });
  return Object.assign(service, {
    send,
    sendText: (operation: ContractOperation, raw: string | Uint8Array<ArrayBuffer>, headers = {}) =>
      send(operation, { raw, headers: { ...jsonType, ...headers } }),
    everyOperation: (check: (operation: ContractOperation) => Promise<void>) =>
      service.everyCase(bodied, ({ operationId }) => operationId, check),
  });
}
