import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { mock } from 'node:test';
import { createClamavScanner } from '../../../src/adapters/scanner/clamavScanner.js';
import { createDocumentScanner } from '../../../src/adapters/scanner/createDocumentScanner.js';
import type { DocumentScanner } from '../../../src/adapters/scanner/documentScanner.js';
import { codeOf, refusalOf } from '../../support/downloads.js';
import { afterTheFile, eicar, startFakeClamd, type Behavior } from '../../support/fakeClamd.js';
import type { FakeClamd, FakeClamdOptions } from '../../support/fakeClamd.js';
import { sampleFiles } from '../../support/fileHost.js';
import { temporaryFolder } from '../../support/folder.js';
import { bodyOf } from '../../support/objectStores.js';
import { until } from '../../support/until.js';

const mebibyte = 1024 * 1024;
const infected = Buffer.concat([sampleFiles.pdf.subarray(0, 20), Buffer.from(eicar), sampleFiles.pdf.subarray(20)]);

/** The code that a scan of the body is refused with. */
const codeFor = (scanner: DocumentScanner, body: AsyncIterable<Uint8Array>): Promise<string> =>
  codeOf(buffer(scanner.scanned(body)));

const folder = temporaryFolder();

it('documents pass unchanged when no scanner is configured', async () => {
  const none = createDocumentScanner({ kind: 'none' });
  expect(await buffer(none.scanned(bodyOf(infected)))).toEqual(infected);
});

/** A clamd for the tests of one `describe`; no test may leave a connection to it open. */
function useClamd(options: () => FakeClamdOptions = () => ({})): () => FakeClamd {
  let clamd: FakeClamd;
  beforeAll(async () => {
    clamd = await startFakeClamd(options());
  });
  afterEach(async () => {
    clamd.behave(undefined);
    await until(() => clamd.openConnections() === 0);
  });
  afterAll(() => clamd.close());
  return () => clamd;
}

describe.each(['TCP', 'a Unix socket'])('clamd over %s', (way) => {
  const path = () => (way === 'TCP' ? {} : { path: folder('clamd.ctl') });
  const clamd = useClamd(() => ({ maxLength: 5_000_000, ...path() }));
  let scanner: DocumentScanner;
  beforeAll(() => {
    scanner = createDocumentScanner({ kind: 'clamav', address: clamd().address });
  });

  it('scans every byte and passes a clean file unchanged', async () => {
    const chunks = [sampleFiles.pdf, randomBytes(1), randomBytes(300_000), Buffer.from('end')];
    const whole = Buffer.concat(chunks);
    expect(whole.equals(await buffer(scanner.scanned(bodyOf(...chunks))))).toBe(true);
    expect(clamd().scanned.at(-1)?.equals(whole)).toBe(true);
  });

  it('scans the bytes after an empty chunk, which clamd would take for the end of the file', async () => {
    expect(await codeFor(scanner, bodyOf('%PDF-', '', eicar, ''))).toBe('document_rejected');
    expect(clamd().scanned.at(-1)?.toString()).toBe(`%PDF-${eicar}`);
  });

  it('refuses a file that is infected within a chunk or across chunks, and does not name the signature', async () => {
    const files = [[infected], [sampleFiles.pdf, eicar.slice(0, 30), eicar.slice(30)]];
    for (const chunks of files) {
      const refusal = await refusalOf(buffer(scanner.scanned(bodyOf(...chunks))));
      expect([refusal.code, refusal.message]).toEqual([
        'document_rejected',
        'A malware scan refused the file; check its origin.',
      ]);
    }
  });

  it('makes the scan fail with dependency_unavailable for a file that is too large to scan', async () => {
    async function* body() {
      for (let chunk = 0; chunk < 8; chunk += 1) yield randomBytes(1_000_000);
    }
    expect(await codeFor(scanner, body())).toBe('dependency_unavailable');
  });
});

describe('clamd', () => {
  const clamd = useClamd();
  const scannerWith = (behavior: Behavior | undefined, patience = 300) => {
    clamd().behave(behavior);
    return createClamavScanner({ address: clamd().address, patience });
  };
  const answering = (text: string | Uint8Array): Behavior => afterTheFile((socket) => socket.end(text));

  const noVerdicts: [string, Behavior][] = [
    ['hangs up at once', (socket) => socket.destroy()],
    ['ends the connection at once', (socket) => socket.end()],
    ['hangs up in the middle', (socket) => socket.once('data', () => socket.destroy())],
    ['resets the connection', (socket) => socket.once('data', () => socket.resetAndDestroy())],
    ['hangs up instead of an answer', afterTheFile((socket) => socket.destroy())],
    ['sends an empty answer', answering('')],
    ['leaves out the zero byte at the end of its answer', answering('stream: OK')],
    ['ends its answer with a line break instead of a zero byte', answering('stream: OK\n')],
    ['answers and breaks off', answering('stream: O')],
    ['says OK before the file has been sent', (socket) => socket.once('data', () => socket.write('stream: OK\0'))],
    ['says OK as a greeting', (socket) => socket.write('stream: OK\0')],
    ['says OK with another prefix than stream', answering('INSTREAM: OK\0')],
    ['says OK twice', answering('stream: OK\0stream: OK\0')],
    ['says more than OK', answering('stream: OK ERROR\0')],
    ['says OK in small letters', answering('stream: ok\0')],
    ['sends only a zero byte', answering('\0')],
    ['answers another command', answering('PONG\0')],
    ['reports that the size limit is exceeded', answering('INSTREAM size limit exceeded. ERROR\0')],
    ['could not scan', answering("stream: Can't allocate memory ERROR\0")],
    ['knows no such command', answering('UNKNOWN COMMAND\0')],
    ['is a web server', answering('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['answers random bytes', answering(Buffer.concat([randomBytes(1000), Buffer.alloc(1)]))],
    ['sends everything back', (socket) => socket.pipe(socket)],
    ['never answers', afterTheFile(() => undefined)],
    ['never reads', (socket) => socket.pause()],
  ];

  it.each(noVerdicts)('makes the scan fail with dependency_unavailable when it %s', async (_fault, behavior) => {
    const scanner = scannerWith(behavior);
    const chunks = Array<Buffer>(8).fill(randomBytes(1_000_000));
    expect(await codeFor(scanner, bodyOf(sampleFiles.pdf, ...chunks))).toBe('dependency_unavailable');
  });

  it('that reads nothing ends the fetch of a file before its 64th MiB', async () => {
    let produced = 0;
    const chunk = Buffer.alloc(65_536);
    async function* large() {
      for (; produced < 256 * mebibyte; produced += chunk.length) yield chunk;
    }
    const scanner = scannerWith((socket) => socket.pause());
    expect(await codeFor(scanner, large())).toBe('dependency_unavailable');
    // A generous limit for the kernel buffers of two sockets.
    expect(produced).toBeLessThan(64 * mebibyte);
  });

  it('makes the scan fail with the connection error as cause when it is down', async () => {
    const gone = await startFakeClamd();
    await gone.close();
    for (const address of [gone.address, { path: folder('absent.ctl') }]) {
      const scanner = createClamavScanner({ address, patience: 300 });
      const { code, cause } = await refusalOf(buffer(scanner.scanned(bodyOf('%PDF-'))));
      expect(code).toBe('dependency_unavailable');
      expect(cause).toMatchObject({ code: expect.stringMatching(/^E(CONNREFUSED|NOENT)$/) });
    }
  });

  it('is disconnected when the reader of the file stops, or when its fetch fails, whose error is reported', async () => {
    const scanner = scannerWith(undefined, 10_000);
    const reason = new Error('the host hung up');
    async function* failing() {
      yield sampleFiles.pdf;
      throw reason;
    }
    await expect(buffer(scanner.scanned(failing()))).rejects.toBe(reason);
    for await (const chunk of scanner.scanned(bodyOf(sampleFiles.pdf, 'more'))) {
      expect(chunk.length).toBe(sampleFiles.pdf.length);
      break;
    }
    expect(clamd().scanned).toEqual([]);
  });

  it('has a time limit that excludes the time spent waiting for the file', async () => {
    // Time passes only here: 3 s until the file has arrived, and 1 s until clamd answers.
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const scanner = scannerWith(
        afterTheFile((socket) => {
          mock.timers.tick(1_000);
          socket.end('stream: OK\0');
        }),
        1_500,
      );
      async function* slow() {
        yield sampleFiles.pdf;
        mock.timers.tick(3_000);
        yield Buffer.from('end');
      }
      expect((await buffer(scanner.scanned(slow()))).length).toBe(sampleFiles.pdf.length + 3);
    } finally {
      mock.timers.reset();
    }
  });
});
