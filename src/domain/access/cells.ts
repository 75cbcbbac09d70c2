import { Prisma } from '../../../generated/prisma/client.js';
import type { PublicContext } from '../../context.js';
import type { Bodies, Schemas } from '../../contract.js';
import { OAuthProblem, oauthStatuses, Problem } from '../../problem.js';

/** An SQL condition on a tenant's id: whether this cell serves and changes the tenant (ADR 9). */
export const isHere = (tenantId: Prisma.Sql): Prisma.Sql => Prisma.sql`
  NOT EXISTS (SELECT FROM tenant_cell WHERE tenant_cell.tenant_id = ${tenantId}
    AND place IN ('closed', 'away', 'arriving'))`;

type CellContext = Pick<PublicContext, 'db' | 'config'>;

/** The tenant's place; always `here` without CELL. @throws Problem dependency_unavailable while the tenant is moving */
export async function placeOf({ db, config }: CellContext, tenantId: string): Promise<'here' | 'leaving' | 'away'> {
  const moved = config.cell === null ? null : await db.prisma.tenantCell.findUnique({ where: { tenantId } });
  const place = moved?.place ?? 'here';
  if (place !== 'closed' && place !== 'arriving') return place;
  throw new Problem(
    'dependency_unavailable',
    'Your tenant is moving to another location. Retry after the given delay.',
  );
}

/**
 * Checks that the tenant is in this cell. `isLeaving`: it will move soon, so check this for each request.
 * @throws Problem dependency_unavailable, as {@link placeOf}; token_invalid if it lives in another cell
 */
export async function requireHere(context: CellContext, tenantId: string): Promise<{ readonly isLeaving: boolean }> {
  const place = await placeOf(context, tenantId);
  if (place === 'away') throw new Problem('token_invalid', NEW_TOKEN);
  return { isLeaving: place === 'leaving' };
}

/** Accepts tokens of this cell, and those without a cell, issued before CELL was set. @throws Problem token_invalid */
export function requireOwnCell(cell: string | undefined, own: string | null): void {
  if (own !== null && cell !== undefined && cell !== own) throw new Problem('token_invalid', NEW_TOKEN);
}

const NEW_TOKEN = 'The token was issued for another location of your data; obtain a new one at /oauth/token.';

/**
 * Asks the other cells for tokens, so that partners need not know where their tenant lives (ADR 9); null if no cell has
 * the client. @throws OAuthProblem of the cell that has it; Problem dependency_unavailable if a cell does not answer
 */
export async function tokensOfOtherCells(
  {
    db,
    config: { cell },
    requestToken,
    tokens,
    now,
    authorization,
    cellsAsked,
    callerAddress,
    untilGone,
  }: PublicContext,
  request: Bodies['TokenRequest'],
): Promise<Schemas['TokenResponse'] | null> {
  const asked = [...(cellsAsked?.split(',') ?? []), cell ?? ''];
  const others = await db.everyTenant.rows<{ name: string; url: string }>`
    SELECT name, url FROM cell WHERE NOT is_own AND name <> ALL (${asked}) ORDER BY name`;
  // Tell each cell the names of all others that are asked now, so that it does not ask them again.
  const names = [...asked, ...others.map(({ name }) => name)];
  const address = await tokens.signAddress(callerAddress() ?? '', now());
  const passedOn = { body: request, authorization, asked: names, address, signal: untilGone() };
  const answers = others.map(({ url }) => requestToken(url, passedOn));
  let isSilent = false;
  for (const answer of await Promise.all(answers)) {
    if (answer?.status === 200) return answer.body as Schemas['TokenResponse'];
    const { error, error_description: description } = Object(answer?.body) as Readonly<Record<string, unknown>>;
    if (!isCode(error)) isSilent = true;
    else if (error !== 'invalid_client') throw new OAuthProblem(error, String(description));
  }
  if (isSilent) throw new Problem('dependency_unavailable');
  return null;
}

const isCode = (error: unknown): error is keyof typeof oauthStatuses =>
  typeof error === 'string' && Object.hasOwn(oauthStatuses, error);
