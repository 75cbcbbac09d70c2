import type { Database } from '../../src/adapters/database/database.js';

/** Prisma's queries, in one of its transactions or not. */
export type PrismaQueries = Omit<Database['prisma'], '$connect' | '$disconnect' | '$extends' | '$on' | '$use'>;
