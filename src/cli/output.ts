import { InvalidArgumentError } from '@commander-js/extra-typings';
import { validate as isUuid } from 'uuid';
import { EFFECT_SECONDS } from '../domain/access/apiClients.js';
import { messageOf } from '../failures.js';
import type { CliIo } from './cliIo.js';

/** Prints the result as JSON or text. Only results go to standard output. */
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

/** How to start the program, for examples and advice. */
export const PROGRAM = 'npm run --silent cli --';

/** The last part of a command's help. */
export function example(...lines: readonly string[]): string {
  return `\nExample:\n${lines.map((line) => `  $ ${PROGRAM} ${line}`).join('\n')}`;
}

/** Reports errors of a check as wrong usage. */
export function assertUsage(command: { error(message: string): never }, check: () => void): void {
  try {
    check();
  } catch (error) {
    command.error(`error: ${messageOf(error)}`);
  }
}

/** Printed with every secret. */
export const SHOWN_ONCE = 'Keep the secret now: it is never shown again.';

/** When changes of access take effect. */
export const FOLLOW = `Running servers follow within ${EFFECT_SECONDS} seconds.`;

export const yesNo = (state: boolean): string => (state ? 'yes' : 'no');

export const EXAMPLE_CLIENT = 'ces_k5xw4zdpnrqw2y3imfzg';

/** Reads a UUID; reports other arguments with this advice. */
export const uuidOr =
  (advice: string) =>
  (text: string): string => {
    if (isUuid(text)) return text.toLowerCase();
    throw new InvalidArgumentError(advice);
  };
