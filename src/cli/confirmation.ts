import type { Command, OptionValues } from '@commander-js/extra-typings';
import type { CliIo } from './cliIo.js';

/** Adds --yes to a command that asks for consent before its first change. */
export const confirmable = <Given extends unknown[], Options extends OptionValues>(command: Command<Given, Options>) =>
  command.option('--yes', 'do not ask; required without a terminal');

/** {@link confirmable} with --dry-run. */
export const previewable = <Given extends unknown[], Options extends OptionValues>(command: Command<Given, Options>) =>
  confirmable(command).option('--dry-run', 'list what would change, and change nothing');

/** Asks for consent to an effect, a sentence, unless `yes`. @throws Error without consent or without a terminal */
export async function confirm({ ask }: CliIo, effect: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  if (!ask) throw new Error(`${effect} Nothing was changed: without a terminal, confirm with --yes.`);
  const answer = await ask(`${effect} Continue? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('Nothing was changed, because the answer was not y or yes.');
}

/** Marks a text as the result of a dry run, if it is one. */
export const marked = (dryRun: boolean | undefined, text: string): string =>
  dryRun ? `Dry run, nothing was changed: ${text}` : text;
