import { connect } from 'node:net';
import type { SocketAddress } from '../../config.js';
import { Problem } from '../../problem.js';
import type { DocumentScanner } from './documentScanner.js';

interface ClamavOptions {
  readonly address: SocketAddress;
  /** Milliseconds to wait for clamd per file; default 10 000. */
  readonly patience?: number;
}

/** Maximum length of clamd's answer. A longer one is not from clamd; without a limit it could fill memory. */
const maxAnswerLength = 4096;

/** Uses clamd's INSTREAM command (clamd(8)). The clamscan package ignores backpressure and ends before the verdict. */
export function createClamavScanner({ address, patience = 10_000 }: ClamavOptions): DocumentScanner {
  return {
    async *scanned(body) {
      const clamd = converse(address, patience);
      try {
        await clamd.send('zINSTREAM\0');
        for await (const chunk of body) {
          // Skip empty chunks, which clamd would take for the end of the file.
          if (chunk.length === 0) continue;
          await clamd.send(lengthOf(chunk));
          await clamd.send(chunk);
          yield chunk;
        }
        judge(await clamd.ask(Buffer.alloc(4)));
      } finally {
        clamd.close();
      }
    },

    async check() {
      const clamd = converse(address, patience);
      try {
        if ((await clamd.ask('zPING\0')) !== 'PONG') throw unavailable(new Error('The scanner is not clamd'));
      } finally {
        clamd.close();
      }
    },
  };
}

/** Throws unless clamd says that the file is clean. The signature's name in its answer stays out of our errors. */
function judge(answer: string): void {
  if (answer === 'stream: OK') return;
  if (/^stream: .+ FOUND$/.test(answer)) throw new Problem('document_rejected');
  throw unavailable(new Error('The scanner gave no verdict'));
}

/** A connection to clamd for one command. Every failure is Problem dependency_unavailable. */
function converse(address: SocketAddress, patience: number) {
  const socket = connect(address).setNoDelay();
  const give = (reason: string) => socket.destroy(new Error(reason));
  let left = patience;
  let asked = false;
  let answer = '';
  const answered = new Promise<string>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      // An early answer usually means that the file exceeds StreamMaxLength; a verdict on a part does not count.
      if (!asked) give('The scanner answered before it had the whole file: see StreamMaxLength of clamd');
      else if (answer.endsWith('\0')) resolve(answer.slice(0, -1));
      else if (answer.length > maxAnswerLength) give('The scanner’s answer does not end');
    });
    socket.on('end', () => give('The scanner hung up'));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The connection to the scanner is closed')));
  });
  // The answer may reject before anyone awaits it; the next send or ask rethrows the error.
  answered.catch(() => undefined);

  /** Waits for a step of the conversation, within the time left for this file. */
  async function wait<T>(step: Promise<T>): Promise<T> {
    const timer = setTimeout(() => give('The scanner is too slow'), Math.max(left, 1));
    const started = performance.now();
    try {
      return await step;
    } catch (error) {
      // Report the connection's error, which is more specific than that of the failed write.
      throw unavailable(socket.errored ?? error);
    } finally {
      clearTimeout(timer);
      left -= performance.now() - started;
    }
  }

  const write = (data: Uint8Array | string) =>
    new Promise<void>((resolve, reject) => {
      socket.write(data, (error) => (error ? reject(error) : resolve()));
    });

  return {
    /** Resolves when the data has left the process, so that memory has only one chunk. */
    send: (data: Uint8Array | string) => wait(write(data)),
    /** Sends the last data of the command and resolves to clamd's answer, without its final NUL. */
    ask(last: Uint8Array | string): Promise<string> {
      asked = true;
      return wait(Promise.all([answered, write(last)]).then(([text]) => text));
    },
    close: () => socket.destroy(),
  };
}

/** The length prefix of a chunk: four bytes, big-endian. */
function lengthOf(chunk: Uint8Array): Uint8Array {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(chunk.length);
  return length;
}

/** The problem for callers. The cause excludes the scanner's answer, which may quote the file. */
function unavailable(cause: unknown): Problem {
  return new Problem('dependency_unavailable', undefined, { cause });
}
