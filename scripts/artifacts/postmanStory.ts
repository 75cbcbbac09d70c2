import { presetPermissions, presets, type Preset } from '../../src/domain/access/permissions.js';
import type { Placed } from './sources.js';

/** The kinds of API clients other than a partner's. */
export const ROLES = Object.keys(presets).filter((preset) => preset !== 'partner');

/** The kind of API client that sends a request: a partner's if it may, else another one that may. */
export function roleOf({ operationId, security }: Pick<Placed, 'operationId' | 'security'>): Preset {
  const sets = security.flatMap((requirement) => Object.values(requirement) as string[][]);
  const mayCall = (role: Preset): boolean => {
    const granted: readonly string[] = presetPermissions(role, 'sandbox');
    return sets.length === 0 || sets.some((scopes) => scopes.every((scope) => granted.includes(scope)));
  };
  const role = (Object.keys(presets) as Preset[]).find(mayCall);
  if (!role)
    throw new Error(
      `No preset may call ${operationId}: correct presets in src/domain/access/permissions.ts, or the operation's security.`,
    );
  return role;
}

/** Requests that come last in their folder, in an order that differs from the contract's so that they succeed. */
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  Orders: ['recordPayment', 'refundPayment', 'cancelOrder', 'setShipTo', 'recordFulfilment', 'getDispensing'],
  // Claim twice, because both releasing and requesting information end a claim. Revoke before getChart, because a
  // revocation changes the chart's version, and before submitReview, which ends the approvals that could be revoked.
  Reviews: [
    ...['claimEncounter', 'releaseEncounter', 'claimEncounter', 'revokeApprovals', 'getChart'],
    ...['requestInformation', 'submitReview', 'addAddendum'],
  ],
  Sandbox: ['setClock', 'resetSandbox'],
};

/** Folders that come last. The sandbox's has the reset, so the next run begins with the same records. */
const LAST_TAGS = ['Sandbox', 'Service'];

/** Sorts tags into the order of their folders. */
export const inOrder = <Tag extends { readonly name: string }>(tags: readonly Tag[]): Tag[] =>
  tags.toSorted((a, b) => LAST_TAGS.indexOf(a.name) - LAST_TAGS.indexOf(b.name));

/** The requests in the folder of a tag, in their order. */
export function requestsOf(tag: string, operations: readonly Placed[]): Placed[] {
  const own = operations.filter(({ tags }) => tags.includes(tag));
  const ending = ORDERS[tag] ?? [];
  const moved = ending.flatMap((id) => own.filter(({ operationId }) => operationId === id));
  return [...own.filter(({ operationId }) => !ending.includes(operationId)), ...moved];
}

/** By operation: the variable that its response sets, and the member with the value. */
export const SAVED: Readonly<Record<string, readonly [name: string, member: string]>> = {
  uploadPatientDocument: ['documentId', 'documentId'],
  createEncounter: ['encounter_id', 'encounter_id'],
  reorderTreatments: ['order_no', 'order_no'],
  recordPayment: ['payment_id', 'payments.at(-1).id'],
  createWebhookEndpoint: ['endpoint_id', 'id'],
  getChart: ['chartVersion', 'chartVersion'],
};

/** By operation: values of parameters and members that differ from those in the contract's examples. */
export const GIVEN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  issueToken: { client_id: '{{clientId}}', client_secret: '{{clientSecret}}' },
  // Use another e-mail, because the workflows have created the patient of the example.
  createPatient: { email: '{{$guid}}@example.com' },
  withdrawDocument: { documentId: '{{documentId}}' },
  cancelEncounter: { encounter_id: '{{encounter_id}}' },
  // Use another order: the example's has a payment by now.
  cancelOrder: { order_no: '{{order_no}}' },
  refundPayment: { order_no: 'ORD-100045', payment_id: '{{payment_id}}', amount: '300.00' },
  updateWebhookEndpoint: { endpoint_id: '{{endpoint_id}}' },
  deleteWebhookEndpoint: { endpoint_id: '{{endpoint_id}}' },
  simulateEncounter: { encounter_id: '100127' },
  releaseEncounter: { encounter_id: '100124' },
  requestInformation: { encounter_id: '100124' },
  submitReview: { chartVersion: '{{chartVersion}}' },
};
