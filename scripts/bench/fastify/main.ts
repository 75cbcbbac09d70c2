/**
 * The measured operations as an ordinary team would write them: Fastify validates, jsonwebtoken verifies and signs, and
 * Prisma's models read and write the same tables, with the same events, audit rows and idempotency keys. Each library is
 * used as it comes, without caches or own statements, and the rows are the responses. The bench forks it.
 */
import { app } from './app.js';
import './creations.js';
import './reads.js';

// The bench reads the address.
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);
