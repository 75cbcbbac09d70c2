import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { runCommand } from './program.js';

// End quietly if the reader of the output stops early, as `head` does.
process.stdout.on('error', () => process.exit(1));

process.exitCode = await runCommand(process.argv.slice(2), {
  environment: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  // Unless FORCE_COLOR is set, styleText colors nothing if standard output is a file or a pipe, or NO_COLOR is set.
  color: process.stderr.isTTY ? styleText : undefined,
  ask: process.stdin.isTTY ? ask : undefined,
  screen: process.stderr.isTTY ? process.stderr : null,
});

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}
