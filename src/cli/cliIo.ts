/** What the program reads and writes besides its database and files. */
export interface CliIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Standard output: results only. */
  out(text: string): void;
  /** Standard error: everything else. */
  err(text: string): void;
  /** Where a progress bar can be drawn; null if nobody is looking. */
  readonly screen: NodeJS.WriteStream | null;
}
