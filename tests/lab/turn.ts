import type { Client, Intent, Json } from './history.js';
import type { Random } from './random.js';
import { recent, type Scene } from './scene.js';

/** An intent that a client is about to send. */
export type Plan = Omit<Intent, 'client' | 'attempts'>;

/** The knowledge with which a client chooses its next intent. */
export interface Turn {
  readonly random: Random;
  readonly client: Client;
  readonly scene: Scene;
  /** The scene of another tenant. */
  readonly foreign: Scene;
  readonly fileUrl: string;
  readonly hookUrl: string;
  /** The position of this client in the feed. */
  readonly cursor: string | undefined;
  /** Sends a plan and resolves with the body of a success; with undefined otherwise. */
  send(plan: Plan): Promise<Json>;
}

/** Chooses what a client sends next; undefined if there is nothing to send. */
export type Action = (turn: Turn) => Plan | undefined | Promise<Plan | undefined>;

/** A change with a new idempotency key. */
export const change = (turn: Turn, operation: string, method: string, path: string, input: Json, about = {}): Plan => ({
  ...{ operation, method, path, input, ...about },
  key: turn.random.uuid(),
});
export const read = (operation: string, path: string, about = {}): Plan => ({
  operation,
  method: 'GET',
  path,
  ...about,
});

/** An action on an encounter, mostly on one whose last known status allows it. */
export const onEncounter =
  (operation: string, action: string, statuses: readonly string[], input: (turn: Turn, known: Json) => Json): Action =>
  (turn) => {
    const all = [...turn.scene.encounters.values()];
    const apt = all.filter(({ status }) => statuses.includes(status));
    const known = recent(turn.random, apt.length > 0 && turn.random.chance(0.85) ? apt : all, 5);
    if (!known) return undefined;
    const about = { encounter: known.encounter_id };
    return change(turn, operation, 'POST', `/encounters/${known.encounter_id}${action}`, input(turn, known), about);
  };
/** An action on an order; `note` of its input is for the auditor. */
export const onOrder =
  (
    operation: string,
    action: string,
    input: (turn: Turn, order: string, known: Json) => Json,
    method = 'POST',
  ): Action =>
  (turn) => {
    const [order, known] = recent(turn.random, turn.scene.orders, 5) ?? [];
    const body = order && input(turn, order, known);
    if (!order || !body) return undefined;
    const { note, ...sent } = body;
    const plan = change(turn, operation, method, `/orders/${order}${action}`, sent, { order, note });
    return method === 'PUT' ? { ...plan, key: undefined as never } : plan;
  };
