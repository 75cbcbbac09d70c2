import { presetPermissions, presets, type Preset } from '../../src/domain/access/permissions.js';
import type { Placed } from './sources.js';

/** The kinds of API clients beside the partner's. */
export const ROLES = Object.keys(presets).filter((preset) => preset !== 'partner');

/** The kind of API client that may send a request; a partner's where it may. */
export function roleOf({ operationId, security }: Pick<Placed, 'operationId' | 'security'>): Preset {
  const sets = security.flatMap((requirement) => Object.values(requirement) as string[][]);
  const mayCall = (role: Preset): boolean => {
    const granted: readonly string[] = presetPermissions(role, 'sandbox');
    return sets.length === 0 || sets.some((scopes) => scopes.every((scope) => granted.includes(scope)));
  };
  const role = (Object.keys(presets) as Preset[]).find(mayCall);
  if (!role) throw new Error(`no kind of API client may call ${operationId}`);
  return role;
}

/** The requests at the end of a folder, if they succeed in another order than the contract's. */
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  Orders: ['recordPayment', 'refundPayment', 'cancelOrder', 'recordFulfilment', 'setShipTo', 'getDispensing'],
  // Two claims, because releasing and asking both end one.
  Reviews: [
    ...['claimEncounter', 'releaseEncounter', 'claimEncounter', 'getChart'],
    ...['requestInformation', 'submitReview', 'addAddendum', 'revokeApprovals'],
  ],
  Sandbox: ['setClock', 'resetSandbox'],
};

/** The reset comes last, so that the next run finds the sandbox as this one did. */
const LAST_TAGS = ['Sandbox', 'Service'];

/** Tags in the order of their folders. */
export const inOrder = <Tag extends { readonly name: string }>(tags: readonly Tag[]): Tag[] =>
  tags.toSorted((a, b) => LAST_TAGS.indexOf(a.name) - LAST_TAGS.indexOf(b.name));

/** The requests of a tag's folder. */
export function requestsOf(tag: string, operations: readonly Placed[]): Placed[] {
  const own = operations.filter(({ tags }) => tags.includes(tag));
  const ending = ORDERS[tag] ?? [];
  const moved = ending.flatMap((id) => own.filter(({ operationId }) => operationId === id));
  return [...own.filter(({ operationId }) => !ending.includes(operationId)), ...moved];
}

/** Variables that the responses of requests fill, and the members that have their values. */
export const SAVED: Readonly<Record<string, readonly [name: string, member: string]>> = {
  uploadPatientDocument: ['documentId', 'documentId'],
  createEncounter: ['encounter_id', 'encounter_id'],
  recordPayment: ['payment_id', 'payments.at(-1).id'],
  createWebhookEndpoint: ['endpoint_id', 'id'],
  getChart: ['chartVersion', 'chartVersion'],
};

/** Parameters and members of bodies that differ from the contract's examples. */
export const GIVEN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  issueToken: { client_id: '{{clientId}}', client_secret: '{{clientSecret}}' },
  // The workflows create the patient of the example.
  createPatient: { email: '{{$guid}}@example.com' },
  withdrawDocument: { documentId: '{{documentId}}' },
  cancelEncounter: { encounter_id: '{{encounter_id}}' },
  refundPayment: { order_no: 'ORD-100045', payment_id: '{{payment_id}}', amount: '300.00' },
  updateWebhookEndpoint: { endpoint_id: '{{endpoint_id}}' },
  deleteWebhookEndpoint: { endpoint_id: '{{endpoint_id}}' },
  simulateEncounter: { encounter_id: '100127' },
  releaseEncounter: { encounter_id: '100124' },
  requestInformation: { encounter_id: '100124' },
  submitReview: { chartVersion: '{{chartVersion}}' },
};
