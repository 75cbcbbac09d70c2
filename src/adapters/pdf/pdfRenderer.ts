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

/** Renders in a thread, one page at a time: 40 ms of CPU would block the event loop. A dead thread is replaced. */
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
