import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';

/** A paragraph of a PDF; any white space in it counts as one space. */
interface PdfLine {
  readonly tag: 'H1' | 'H2' | 'P';
  /** Font size in points. */
  readonly size: number;
  readonly text: string;
  readonly isBold: boolean;
}

/** The content of a PDF, which is tagged for screen readers. */
export interface PdfDocument {
  readonly title: string;
  readonly createdAt: Date;
  readonly lines: readonly PdfLine[];
}

export type PdfRenderer = (document: PdfDocument) => Promise<Uint8Array>;

/** Renders in a thread, one document at a time: 40 ms of CPU would block the event loop. Replaces a dead thread. */
export function openPdfRenderer(): PdfRenderer {
  let thread: Worker | undefined;
  const start = (): Worker => {
    const started = new Worker(new URL('./pdfThread.js', import.meta.url), {
      // Enough for one document: with Node's higher default, garbage collection would take CPU time from requests.
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    });
    // Without a listener, the thread's error would end the process. Waiting callers notice that their ports close.
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
