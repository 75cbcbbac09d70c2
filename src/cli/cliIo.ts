/** A command in the audit. */
export interface RunningCommand {
  /** Group and command, such as `client create`. */
  readonly name: string;
  /** User and host. */
  readonly operator: string;
  /** Id or name of the tenant. */
  readonly tenant: string | null;
  /** The argument with the client, patient, encounter, order or endpoint. */
  readonly subject: string | null;
  /** The patient whose encounters or orders are listed. */
  readonly patientId: string | null;
}

/** The environment and streams of the program. */
export interface CliIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Standard output: results only. */
  out(text: string): void;
  /** Standard error: everything else. */
  err(text: string): void;
  /** The terminal for progress bars; null for files and pipes. */
  readonly screen: NodeJS.WriteStream | null;
  /** Asks a person at the terminal; undefined without one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Set before the command runs. */
  command?: RunningCommand;
}
