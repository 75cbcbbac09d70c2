import { Argument, type Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { addCommand, PROGRAM } from './command.js';
import { print } from './output.js';
import type { CliIo } from './cliIo.js';

const NOTES = `
Add to ~/.bashrc: source <(${PROGRAM} completion bash)
Add to ~/.zshrc after compinit: source <(${PROGRAM} completion zsh)`;

/** Adds the command `completion`, which covers all commands added before it. */
export function addCompletionCommand(program: Command, terminal: CliIo): void {
  const description = 'print the completion of commands and options for a shell';
  addCommand(program, 'completion', description, ['bash', 'zsh'], { notes: NOTES })
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh']))
    .action((shell, { json }) => {
      const script = `${shell === 'zsh' ? 'autoload -Uz bashcompinit && bashcompinit\n' : ''}${scriptOf(program)}`;
      print(terminal, json, { shell, script }, script);
    });
}

/** The shell script. It offers words by the command before the cursor; otherwise the shell offers file names. */
const scriptOf = (program: CommandUnknownOpts): string => `_${PROGRAM}() {
  local offered
  case "\${COMP_WORDS[*]:1:$((COMP_CWORD - 1))}" in
${casesOf(program, '').join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${PROGRAM} ${PROGRAM}`;

function casesOf({ commands, options }: CommandUnknownOpts, path: string): string[] {
  const words = [...commands.map((command) => command.name()), ...options.map(({ long }) => long)].join(' ');
  const pattern = commands.length > 0 ? `'${path}'` : `'${path}' | '${path} '*`;
  const own = `    ${pattern}) offered='${words} --help' ;;`;
  return [own, ...commands.flatMap((command) => casesOf(command, `${path} ${command.name()}`.trimStart()))];
}
