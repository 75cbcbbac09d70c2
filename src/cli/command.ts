import type { Command } from '@commander-js/extra-typings';
import { wholeNumber } from './output.js';

/** How to start the program, for examples and advice. */
export const PROGRAM = 'ces';

/** Adds a group of commands. */
export const addGroup = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description).helpCommand(false);

interface CommandOptions {
  /** In the help, before the examples. */
  readonly notes?: string;
  /** Whether the group's name alone calls the command. */
  readonly isDefault?: boolean;
}

/** Adds a command that takes --json. @param examples their arguments */
export function addCommand<const Usage extends string>(
  parent: Command,
  usage: Usage,
  description: string,
  examples: readonly string[] = [''],
  { notes = '', isDefault = false }: CommandOptions = {},
) {
  const path = [PROGRAM, ...(parent.parent ? [parent.name()] : []), usage.split(' ')[0]].join(' ');
  const lines = examples.map((example) => `  $ ${path} ${example}`.trimEnd());
  return parent
    .command(usage, { isDefault })
    .description(description)
    .option('--json', 'print JSON')
    .addHelpText('after', [notes, `\nExample:\n${lines.join('\n')}`].filter(Boolean).join('\n'));
}

/** Adds a command on one tenant. */
export const addTenantCommand = <const Usage extends string>(...given: Parameters<typeof addCommand<Usage>>) =>
  addCommand<Usage>(...given).requiredOption('--tenant <tenant>', 'id or name of the tenant');

/** Adds a command that lists the newest objects of one tenant. */
export const addListCommand = <const Usage extends string>(...given: Parameters<typeof addCommand<Usage>>) =>
  addTenantCommand<Usage>(...given).option('--limit <number>', 'show at most so many', wholeNumber(1, 100), 20);
