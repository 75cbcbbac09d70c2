import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { SocketAddress } from '../../config.js';
import { Problem } from '../../problem.js';
import type { DocumentScanner } from './documentScanner.js';

interface ClamavOptions {
  readonly address: SocketAddress;
  /** Milliseconds to wait for clamd at each step; default 10 000. */
  readonly patience?: number;
}

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
        await clamd.send(Buffer.alloc(4));
        judge(await clamd.answer());
      } finally {
        clamd.close();
      }
    },
  };
}

/** Throws unless clamd says that the file is clean. The signature's name in its answer stays out of our errors. */
function judge(answer: string): void {
  if (answer === 'stream: OK\0') return;
  if (/^stream: .+ FOUND\0$/.test(answer)) throw new Problem('document_rejected');
  throw unavailable(
    new Error('clamd at CLAMAV_ADDRESS answered without a verdict: see the log of clamd, and its StreamMaxLength'),
  );
}

/** A connection to clamd for one command. Every failure is Problem dependency_unavailable. */
function converse(address: SocketAddress, patience: number) {
  const socket = connect(address).setNoDelay();
  // clamd closes the connection after its answer.
  const answered = text(socket);
  // The answer may reject before anyone awaits it; the next step rethrows the error.
  answered.catch(() => undefined);

  async function wait<T>(step: Promise<T>): Promise<T> {
    const timer = setTimeout(
      () =>
        socket.destroy(new Error('clamd at CLAMAV_ADDRESS does not answer: check that it runs and is not overloaded')),
      patience,
    );
    try {
      return await step;
    } catch (error) {
      // Report the connection's error, which is more specific than that of the failed write.
      throw unavailable(socket.errored ?? error);
    } finally {
      clearTimeout(timer);
    }
  }

  const write = (data: Uint8Array | string) =>
    new Promise<void>((resolve, reject) => {
      socket.write(data, (error) => (error ? reject(error) : resolve()));
    });

  return {
    /** Resolves when the data has left the process, so that memory has only one chunk. */
    send: (data: Uint8Array | string) => wait(write(data)),
    answer: () => wait(answered),
    close: () => socket.destroy(),
  };
}

function lengthOf(chunk: Uint8Array): Uint8Array {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(chunk.length);
  return length;
}

/** The problem for callers. The cause excludes the scanner's answer, which may quote the file. */
function unavailable(cause: unknown): Problem {
  return new Problem('dependency_unavailable', undefined, { cause });
}
