import type { Command, OptionValues } from '@commander-js/extra-typings';
import type { CliIo } from './cliIo.js';

/** The options of {@link confirmable}. */
export interface Confirmation {
  readonly dryRun?: boolean | undefined;
  readonly yes?: boolean | undefined;
}

/** Adds --dry-run and --yes to a command that asks for consent before it begins. */
export const confirmable = <Given extends unknown[], Options extends OptionValues>(command: Command<Given, Options>) =>
  command
    .option('--dry-run', 'report the effect and change nothing')
    .option('--yes', 'do not ask; required without a terminal');

/** Asks the operator. @param effect a sentence. @throws Error without consent, or if there is no terminal to ask on */
export async function confirm({ ask }: CliIo, effect: string, { dryRun, yes }: Confirmation): Promise<void> {
  if (dryRun || yes) return;
  if (!ask) throw new Error(`${effect} Confirm with --yes, or see the effect with --dry-run.`);
  const answer = await ask(`${effect} Continue? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('Nothing was changed.');
}

/** Marks a text as the result of a dry run, if it is one. */
export const marked = ({ dryRun }: Confirmation, text: string): string =>
  dryRun ? `Dry run, rolled back: ${text}` : text;
