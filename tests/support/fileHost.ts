import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingHttpHeaders, RequestListener, Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { tlsFiles } from './tlsFiles.js';

/** The answer at a path: a listener, or a file with its headers. */
export type Answer =
  | RequestListener
  | { readonly content: Uint8Array; readonly headers?: Readonly<Record<string, string>> };

/** A server on loopback from which the service fetches documents. */
export interface FileHost {
  /** `host:port`, as DOCUMENT_FETCH_ALLOWED_HOSTS wants it. */
  readonly host: string;
  /** The headers of every request so far, with its path. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** TCP connections so far. */
  connections(): number;
  /** TCP connections that are open now. */
  openConnections(): number;
  /** Sets the answer for a path and returns its URL. */
  serve(path: string, answer: Answer): string;
  close(): Promise<void>;
}

/**
 * Starts a host on 127.0.0.1 at a free port. With `tls` it speaks https as `files.example.com`, with a
 * certificate of {@link tlsFiles}.
 */
export async function startFileHost(options: { readonly tls?: boolean } = {}): Promise<FileHost> {
  const answers = new Map<string, Answer>();
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const listener: RequestListener = (request, response) => {
    const path = request.url ?? '/';
    requests.push({ path, headers: request.headers });
    const answer = answers.get(path);
    if (typeof answer === 'function') answer(request, response);
    else if (answer) response.writeHead(200, { ...answer.headers }).end(answer.content);
    else response.writeHead(404).end('not here');
  };
  const server = options.tls
    ? createHttpsServer({ key: tlsFiles['server.key'], cert: tlsFiles['server.crt'] }, listener)
    : createHttpServer(listener);
  let connections = 0;
  let open = 0;
  server.on('connection', (socket) => {
    connections += 1;
    open += 1;
    socket.once('close', () => (open -= 1));
  });
  const port = await listenOnLoopback(server);
  // A test that fails before closing the host must not wait for it.
  server.unref();
  const hostName = options.tls ? 'files.example.com' : '127.0.0.1';

  return {
    host: `${hostName}:${port}`,
    requests,
    connections: () => connections,
    openConnections: () => open,
    serve(path, answer) {
      answers.set(path, answer);
      return `${options.tls ? 'https' : 'http'}://${hostName}:${port}${path}`;
    },
    close: () => closeServer(server),
  };
}

/** The port of a server that listens on TCP. */
export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string')
    throw new Error('The server has no TCP port: await its listen() on a port first');
  return address.port;
}

/** Listens on 127.0.0.1; resolves with the port, by default a free one. */
export async function listenOnLoopback(server: TcpServer, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return portOf(server.address());
}

/** Stops a server and its connections; does nothing if it is stopped. */
export async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj
trailer<</Root 1 0 R>>
%%EOF
`;

/** One black pixel. Its directory follows `gap` bytes after the header, as scanners write it. */
function tiff(gap: number): Buffer {
  const entries = [
    [256, 3, 1, 1],
    [257, 3, 1, 1],
    [258, 3, 1, 1],
    [259, 3, 1, 1],
    [262, 3, 1, 1],
    [273, 4, 1, 8],
    [279, 4, 1, 1],
  ];
  const file = Buffer.alloc(8 + gap + 2 + entries.length * 12 + 4);
  file.write('II*\0', 'latin1');
  file.writeUInt32LE(8 + gap, 4);
  file.writeUInt16LE(entries.length, 8 + gap);
  entries.forEach(([tag = 0, type = 0, count = 0, value = 0], index) => {
    const at = 10 + gap + index * 12;
    file.writeUInt16LE(tag, at);
    file.writeUInt16LE(type, at + 2);
    file.writeUInt32LE(count, at + 4);
    file.writeUInt32LE(value, at + 8);
  });
  return file;
}

/** Small files of every type that a document may have. */
export const sampleFiles = {
  pdf: Buffer.from(pdf),
  png: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
  jpeg: Buffer.from(
    `ffd8ffe000104a46494600010101004800480000ffdb004300${'ff'.repeat(64)}ffc9000b080001000101011100ffcc000600101005` +
      'ffda0008010100003f00d2cf20ffd9',
    'hex',
  ),
  tiff: tiff(5000),
  heic: heic(),
};

/** The boxes of a HEIC picture without content; the length of the last one has 64 bits. */
function heic(): Buffer {
  const box = (type: string, content: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(content.length + 8);
    return Buffer.concat([length, Buffer.from(type, 'latin1'), content]);
  };
  const kind = Buffer.from('heic\0\0\0\0mif1heic', 'latin1');
  const data = Buffer.concat([Buffer.from('\0\0\0\x01mdat\0\0\0\0\0\0\0\x74', 'latin1'), Buffer.alloc(100, 0xa5)]);
  return Buffer.concat([box('ftyp', kind), box('meta', Buffer.alloc(60)), data]);
}
