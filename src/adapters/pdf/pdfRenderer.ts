import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';

/** A paragraph; white space counts as one space. */
interface PdfLine {
  readonly tag: 'H1' | 'H2' | 'P';
  /** In points. */
  readonly size: number;
  readonly text: string;
  readonly isBold: boolean;
}

/** A document, tagged for screen readers. */
export interface PdfDocument {
  readonly title: string;
  readonly createdAt: Date;
  readonly lines: readonly PdfLine[];
}

export type PdfRenderer = (document: PdfDocument) => Promise<Uint8Array>;

/**
 * Renders pages in a thread: a page takes 40 ms of CPU, which would block the event loop. The thread starts with the
 * first page, renders one at a time, and is replaced if it dies.
 */
export function openPdfRenderer(): PdfRenderer {
  let thread: Worker | undefined;
  const start = (): Worker => {
    const started = new Worker(new URL('./pdfThread.js', import.meta.url), {
      // Enough for one page: with Node's default, garbage collection takes CPU time from requests.
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    });
    // Without a listener the error would end the process. Waiting pages notice that their ports close.
    started.on('error', () => (thread = undefined));
    started.unref();
    return started;
  };
  return async (page) => {
    const { port1, port2 } = new MessageChannel();
    (thread ??= start()).postMessage({ page, port: port2 }, [port2]);
    const [answer] = (await Promise.race([once(port1, 'message'), once(port1, 'close')])) as [unknown];
    port1.close();
    if (answer instanceof Uint8Array) return answer;
    throw new Error('no PDF was rendered', { cause: answer });
  };
}
