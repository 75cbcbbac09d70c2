import { connect } from 'node:net';
import type { SocketAddress } from '../../config.js';
import { Problem } from '../../problem.js';
import type { DocumentScanner } from './documentScanner.js';

interface ClamavOptions {
  readonly address: SocketAddress;
  /** Milliseconds that may be spent waiting for clamd on behalf of one file; default 10 000. */
  readonly patience?: number;
}

/** Longer answers are none of clamd's; it keeps a server that talks without end from filling memory. */
const maxAnswerLength = 4096;

/** Scans by clamd's INSTREAM (clamd(8)). The package clamscan ignores backpressure, and ends before the verdict. */
export function createClamavScanner({ address, patience = 10_000 }: ClamavOptions): DocumentScanner {
  return {
    async *scanned(body) {
      const clamd = converse(address, patience);
      try {
        await clamd.send('zINSTREAM\0');
        for await (const chunk of body) {
          // A chunk of no bytes means the end to clamd: it would never see the rest.
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

/** Only the two answers that are a verdict count as one; the signature's name is for clamd's own log. */
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
      // Most often that the file is larger than StreamMaxLength; a verdict on a part is none.
      if (!asked) give('The scanner answered before it had the whole file: see StreamMaxLength of clamd');
      else if (answer.endsWith('\0')) resolve(answer.slice(0, -1));
      else if (answer.length > maxAnswerLength) give('The scanner’s answer does not end');
    });
    socket.on('end', () => give('The scanner hung up'));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The connection to the scanner is closed')));
  });
  // May reject before anyone awaits; the next send or ask rethrows.
  answered.catch(() => undefined);

  /** Waits for clamd, as long as there is patience left for this file. */
  async function wait<T>(step: Promise<T>): Promise<T> {
    const timer = setTimeout(() => give('The scanner is too slow'), Math.max(left, 1));
    const started = performance.now();
    try {
      return await step;
    } catch (error) {
      // What broke the connection says more than what then could not be written.
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
    /** Resolves when the data has left the process, so that no more than one chunk waits here. */
    send: (data: Uint8Array | string) => wait(write(data)),
    /** Sends the last of the command and resolves to the answer, without its final NUL. */
    ask(last: Uint8Array | string): Promise<string> {
      asked = true;
      return wait(Promise.all([answered, write(last)]).then(([text]) => text));
    },
    close: () => socket.destroy(),
  };
}

/** clamd wants the length of a chunk before it, in four bytes, the highest first. */
function lengthOf(chunk: Uint8Array): Uint8Array {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(chunk.length);
  return length;
}

/** Without the scanner's own text, in which parts of the file might be. */
function unavailable(cause: unknown): Problem {
  return new Problem('dependency_unavailable', undefined, { cause });
}
