/** The server to compare with: only node:http and named statements. The bench forks it. */
import { createServer, type IncomingMessage } from 'node:http';
import { Pool } from 'pg';
import { readRecorder } from './benchAudit.js';
import { namedQueries, operations, type Sample } from './operations.js';

const sample = JSON.parse(process.env['BENCH_SAMPLE'] ?? '{}') as Sample;
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], application_name: 'bench-baseline', max: 10 });
const query = namedQueries(pool);
const recordRead = readRecorder(query);
const byName = new Map(operations.map((operation) => [operation.name, operation]));

async function bodyOf(req: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return chunks.length > 0 ? (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>) : {};
}

// Longer than any pause between requests, so that the server never closes a connection while one is sent.
const server = createServer({ keepAliveTimeout: 600_000 }, (req, res) => {
  void (async () => {
    const body = req.method === 'POST' ? await bodyOf(req) : {};
    const operation = byName.get(String(req.headers['x-bench']));
    const rows = await operation?.plain(query, sample, body);
    if (!operation?.isChange) await recordRead(sample);
    const text = JSON.stringify(rows);
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }).end(text);
  })().catch((error: unknown) => res.writeHead(500).end(String(error)));
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`);
});
