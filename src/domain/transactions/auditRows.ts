import type { Prisma } from '../../../generated/prisma/client.js';
import type { AuditRow } from '../../context.js';
import { insertion } from './bulkSql.js';

/** Adds rows to the audit, of one tenant or of several. */
export const auditInsertion = (rows: readonly AuditRow[]): Prisma.Sql => insertion('audit_event', rows);
