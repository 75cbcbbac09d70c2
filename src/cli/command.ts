import type { Command } from '@commander-js/extra-typings';

/** The name by which operators start the program, used in examples and advice. */
export const PROGRAM = 'ces';

/** Adds a group of commands. */
export const addGroup = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description).helpCommand(false);

/**
 * Adds a command with the option --json. @param examples the arguments of its examples
 * @param options `notes`: text in the help, placed before the examples
 */
export function addCommand<const Usage extends string>(
  parent: Command,
  usage: Usage,
  description: string,
  examples: readonly string[] = [''],
  { notes = '' }: { readonly notes?: string } = {},
) {
  const path = [PROGRAM, ...(parent.parent ? [parent.name()] : []), usage.split(' ')[0]].join(' ');
  const lines = examples.map((example) => `  $ ${path} ${example}`.trimEnd());
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'print JSON')
    .addHelpText('after', [notes, `\nExample:\n${lines.join('\n')}`].filter(Boolean).join('\n'));
}

/** Adds a command for one tenant, which takes --tenant. */
export const addTenantCommand = <const Usage extends string>(...given: Parameters<typeof addCommand<Usage>>) =>
  addCommand<Usage>(...given).requiredOption('--tenant <tenant>', 'id or name of the tenant');
