/** A running command, as the audit describes it. */
export interface RunningCommand {
  /** Group, if any, and command, such as `client create`; ends with `--dry-run` if that is given. */
  readonly name: string;
  /** The user, or the name given by --as, and the host. */
  readonly operator: string;
  /** Id or name of the tenant, as given; null if none is given. */
  readonly tenant: string | null;
  /** The first argument, such as the id of a client, patient or order; null if there is none. */
  readonly subject: string | null;
  /** The reason that the operator gave, which the audit keeps as the code. */
  readonly reason: string | null;
}

/** The environment and streams of the program. */
export interface CliIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Writes to standard output, which is for results only. */
  out(text: string): void;
  /** Writes to standard error, which is for everything else. */
  err(text: string): void;
  /** The terminal for progress bars; null if standard error is a file or a pipe. */
  readonly screen: NodeJS.WriteStream | null;
  /** Colors a text; undefined if standard error is a file or a pipe. */
  readonly color?: ((color: 'red' | 'yellow' | 'green', text: string) => string) | undefined;
  /** Asks the person at the terminal; undefined if standard input is not a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** The command that runs, for the audit; set before it starts. */
  command?: RunningCommand;
}
