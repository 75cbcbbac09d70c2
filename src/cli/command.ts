import type { Command } from '@commander-js/extra-typings';

/** The name by which operators start the program, used in examples and advice. */
export const PROGRAM = 'ces';

/** Adds a group of commands. */
export const addGroup = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description).helpCommand(false);

interface CommandOptions {
  /** Text in the help, placed before the examples. */
  readonly notes?: string;
  /** Whether the command runs if only the name of its group is given. */
  readonly isDefault?: boolean;
}

/** Adds a command with the option --json. @param examples the arguments of its examples */
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

/** Adds a command for one tenant, which takes --tenant. */
export const addTenantCommand = <const Usage extends string>(...given: Parameters<typeof addCommand<Usage>>) =>
  addCommand<Usage>(...given).requiredOption('--tenant <tenant>', 'id or name of the tenant');
