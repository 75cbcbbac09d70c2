import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';

/** An interactive shell in a separate terminal. */
export interface Terminal {
  /** Pastes a block, presses Enter and waits for its end; returns its exit code. */
  paste(block: string): Promise<number>;
  /** The whole output of the terminal. */
  shown(): Promise<string>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 60_000;

/**
 * Opens a terminal with a shell that has read no configuration.
 * @param command for example ['zsh', '-f']
 */
export async function openTerminal(command: readonly string[], cwd: string): Promise<Terminal> {
  const name = `ces-${randomUUID()}`;
  const tmux = async (...args: string[]): Promise<string> => {
    const options = { timeout: TIMEOUT_MS };
    const { stdout } = await promisify(execFile)('tmux', ['-L', name, '-f', '/dev/null', ...args], options);
    return stdout;
  };
  const shown = (): Promise<string> => tmux('capture-pane', '-p', '-J', '-S', '-', '-t', name);
  let blocks = 0;
  /**
   * Passes the text to the terminal by `send`, with a last line that reports its exit code; returns that code. The line also
   * enables bracketed pastes, as the next prompt will: the next paste may come first, and its lines would run one by one.
   */
  const run = async (text: string, send: (text: string) => Promise<unknown>): Promise<number> => {
    blocks += 1;
    const report = `printf 'block %s ended with %s\\n\\e[?2004h' ${blocks} $?`;
    await send(`${text}${report}; tmux -L ${name} wait-for -S block-${blocks}`);
    await tmux('send-keys', '-t', name, 'Enter');
    await tmux('wait-for', `block-${blocks}`).catch(async () => {
      throw new Error(
        `The shell ended, or a block took longer than ${TIMEOUT_MS / 1_000} s. Correct the block by what the terminal shows:\n${await shown()}`,
      );
    });
    const [, code] = new RegExp(`^block ${blocks} ended with (\\d+)$`, 'm').exec(await shown()) ?? [];
    return Number(code);
  };
  await tmux('new-session', '-d', '-s', name, '-x', '500', '-y', '50', '-c', cwd, ...command);
  await run('', (text) => tmux('send-keys', '-t', name, '-l', text));
  return {
    paste: (block) =>
      run(`${block.trimEnd()}\n`, async (text) => {
        await tmux('set-buffer', text);
        await tmux('paste-buffer', '-p', '-d', '-t', name);
      }),
    shown,
    close: () => tmux('kill-server').then(() => undefined),
  };
}
