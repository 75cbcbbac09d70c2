import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';

/** A part of a PDF. Any white space in a text counts as one space. */
export type PdfPart =
  | { readonly kind: 'title' | 'heading' | 'text' | 'warning'; readonly text: string }
  /** Labels with their values, in two columns. */
  | { readonly kind: 'facts'; readonly rows: readonly (readonly [label: string, value: string])[] }
  /** A table of three columns. A row of one cell spans them. */
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

/** The content of a PDF, which is tagged for screen readers. */
export interface PdfDocument {
  readonly title: string;
  readonly createdAt: Date;
  readonly paper: 'letter' | 'a4';
  /** Written across each page; null = nothing. */
  readonly watermark: string | null;
  /** Written at the foot of each page, below title and page number. */
  readonly foot: string;
  readonly parts: readonly PdfPart[];
}

/** A document that needs the fallback font. */
export const FONT_SAMPLE: PdfDocument = {
  title: 'Sample',
  createdAt: new Date(0),
  paper: 'letter',
  watermark: null,
  foot: '',
  parts: [{ kind: 'text', text: '中文' }],
};

export type PdfRenderer = (document: PdfDocument) => Promise<Uint8Array>;

/**
 * Renders in a thread, one document at a time: 40 ms of CPU would block the event loop. Replaces a dead thread.
 * @param fallbackFont a font file for texts with characters that DejaVu Sans lacks; `file#name` in a collection; null = none
 */
export function openPdfRenderer(fallbackFont: string | null = null): PdfRenderer {
  let thread: Worker | undefined;
  const start = (): Worker => {
    const started = new Worker(new URL('./pdfThread.js', import.meta.url), {
      workerData: { fallbackFont },
      // Enough for one document: with Node's default, garbage collection would take CPU time from requests.
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
    throw new Error('no PDF was rendered: see the cause or, without one, why the thread of pdfThread.js ended', {
      cause: answer,
    });
  };
}
