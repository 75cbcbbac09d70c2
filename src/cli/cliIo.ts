/** A running command, as the audit describes it. */
export interface RunningCommand {
  /** Group and command, such as `client create`. */
  readonly name: string;
  /** User and host of the operator. */
  readonly operator: string;
  /** Id or name of the tenant, as given; null if the command concerns none. */
  readonly tenant: string | null;
  /** The argument that names a client, patient, order or endpoint; null if there is none. */
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
  /** The terminal for progress bars; null if the output is a file or a pipe. */
  readonly screen: NodeJS.WriteStream | null;
  /** Colors a text; undefined if the output is a file or a pipe. */
  readonly color?: ((color: 'red' | 'yellow' | 'green', text: string) => string) | undefined;
  /** Asks the person at the terminal; undefined if there is no terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** The command that runs, for the audit; set before it starts. */
  command?: RunningCommand;
}
