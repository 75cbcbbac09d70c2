import { defineConfig } from 'prisma-cli/config';

/**
 * For Prisma's own command line: `npx prisma <command> --config prisma/prisma.config.ts` (its migrate commands need
 * DATABASE_URL and a native engine; ours is "make migrate"). A default export, because Prisma asks for one.
 */
export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  ...(process.env['DATABASE_URL'] ? { datasource: { url: process.env['DATABASE_URL'] } } : {}),
});
