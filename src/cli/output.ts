import { InvalidArgumentError } from '@commander-js/extra-typings';
import { validate as isUuid } from 'uuid';
import { EFFECT_SECONDS } from '../domain/access/apiClients.js';
import { messageOf } from '../failures.js';
import type { CliIo } from './cliIo.js';

/** Prints the result: JSON for scripts, or text for people. Nothing else is ever written to standard output. */
export function print({ out }: CliIo, asJson: boolean | undefined, value: unknown, text: () => string): void {
  out(`${asJson ? JSON.stringify(value, null, 2) : text()}\n`);
}

/** Columns as wide as their widest cell. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const padded = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return padded.map((line) => line.join('  ').trimEnd()).join('\n');
}

/** Name and value in two columns. */
export function fields(values: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  return Object.entries(values)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}`)
    .join('\n');
}

/** How a command is called, for examples and advice. */
export const PROGRAM = 'npm run --silent cli --';

/** The last part of a command's help. */
export function example(...lines: readonly string[]): string {
  return `\nExample:\n${lines.map((line) => `  $ ${PROGRAM} ${line}`).join('\n')}`;
}

/** Runs a check of what the command was given; what it throws is wrong usage. */
export function assertUsage(command: { error(message: string): never }, check: () => void): void {
  try {
    check();
  } catch (error) {
    command.error(`error: ${messageOf(error)}`);
  }
}

/** What to say wherever a secret is printed. */
export const SHOWN_ONCE = 'Keep the secret now: it is never shown again.';

/** When a change of who may call takes effect. */
export const FOLLOW = `Running servers follow within ${EFFECT_SECONDS} seconds.`;

export const yesNo = (state: boolean): string => (state ? 'yes' : 'no');

export const EXAMPLE_CLIENT = 'ces_k5xw4zdpnrqw2y3imfzg';

/** Reads an argument that is a UUID; otherwise the advice is what to say. */
export const uuidOr =
  (advice: string) =>
  (text: string): string => {
    if (isUuid(text)) return text.toLowerCase();
    throw new InvalidArgumentError(advice);
  };
