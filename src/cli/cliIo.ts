/** A command of the operator, as the audit knows it. */
export interface RunningCommand {
  /** Its words, such as `client create`. */
  readonly name: string;
  /** Who runs it, and where. */
  readonly operator: string;
  /** Of whom it is: id or name of a tenant, or the argument that names one thing. */
  readonly tenant: string | null;
  readonly subject: string | null;
}

/** What the program reads and writes besides its database and files. */
export interface CliIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Standard output: results only. */
  out(text: string): void;
  /** Standard error: everything else. */
  err(text: string): void;
  /** Where a progress bar can be drawn; null if nobody is looking. */
  readonly screen: NodeJS.WriteStream | null;
  /** What runs; the program knows it before the command begins. */
  command?: RunningCommand;
}
