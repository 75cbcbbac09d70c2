import { InvalidArgumentError } from '@commander-js/extra-typings';
import { SingleBar } from 'cli-progress';
import { validate as isUuid } from 'uuid';
import { EFFECT_SECONDS } from '../domain/access/apiClients.js';
import { instantOf } from '../domain/transactions/instant.js';
import { messageOf } from '../failures.js';
import type { CliIo } from './cliIo.js';

/** Prints a result as JSON or text on standard output, which is for results only. The default text lists the members. */
export function print(
  { out }: CliIo,
  asJson: boolean | undefined,
  value: object,
  text = fields(value as Fields),
): void {
  out(`${asJson ? JSON.stringify(value, null, 2) : text}\n`);
}

/** The text, colored on a terminal. */
export const colored = ({ color }: CliIo, ...text: Parameters<NonNullable<CliIo['color']>>): string =>
  color?.(...text) ?? text[1];

/** A progress bar on a terminal; draws nothing if the stream is null, for files and pipes. @param unit what it counts */
export function progressBar(stream: CliIo['screen'], unit: 'rows' | 'files') {
  if (!stream) return { progress: () => {}, stop: () => {} };
  const format = `{bar} {percentage} % ({value} of {total} ${unit})`;
  const bar = new SingleBar({ stream, clearOnComplete: true, format });
  return {
    progress: (done: number, total: number) => (bar.isActive ? bar.update(done) : bar.start(total, done)),
    stop: () => bar.stop(),
  };
}

/** A table as text, whose columns are as wide as their widest cell. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const padded = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  return padded.map((line) => line.join('  ').trimEnd()).join('\n');
}

/** Names and values as text in two columns. */
export function fields(values: Fields): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  const lines = Object.entries(values).map(([name, value]) => `${name.padEnd(width)}  ${cellOf(value)}`);
  return lines.join('\n');
}

type Cell = string | number | boolean | Date | null;
type Fields = Readonly<Record<string, Cell>>;

function cellOf(value: Cell): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'boolean' ? yesNo(value) : String(value ?? 'none');
}

/** Runs a check of arguments, and reports its error as wrong usage. */
export function assertUsage(command: { error(message: string): never }, check: () => void): void {
  try {
    check();
  } catch (error) {
    command.error(`error: ${messageOf(error)}`);
  }
}

export const SHOWN_ONCE = 'Store the secret now. It is never shown again.';
export const FOLLOW = `Running servers apply this within ${EFFECT_SECONDS} seconds.`;
export const EXAMPLE_CLIENT = 'ces_k5xw4zdpnrqw2y3imfzg';

export const yesNo = (state: boolean): string => (state ? 'yes' : 'no');

/** Creates a parser of UUIDs that refuses other arguments with this advice. */
export const uuidOr =
  (advice: string) =>
  (text: string): string => {
    if (isUuid(text)) return text.toLowerCase();
    throw new InvalidArgumentError(advice);
  };

/** Creates a parser of whole numbers. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };

/** Parses a date (its start in UTC), or a date and time. */
export function moment(text: string): Date {
  try {
    return instantOf(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00Z` : text);
  } catch {
    throw new InvalidArgumentError('Give a date or a time with its zone, such as 2026-11-01 or 2026-11-01T06:00:00Z.');
  }
}

/** Parses a reason for the audit: a code, so that it is unlikely to describe a person. */
export function reasonCode(text: string): string {
  if (/^[\w./-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('Give 1 to 64 letters from a to z, digits, and . / _ -, such as court-order/4711.');
}
