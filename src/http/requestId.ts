import type { RequestHandler } from 'express';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Names every request, by the caller's `X-Request-Id` if that is a UUID, and says so in the answer. */
export function requestIds(newId: () => string): RequestHandler {
  return (req, res, next) => {
    const given = req.get('X-Request-Id') ?? '';
    const requestId = UUID.test(given) ? given.toLowerCase() : newId();
    res.locals['requestId'] = requestId;
    res.set('X-Request-Id', requestId);
    next();
  };
}

/** The id that {@link requestIds} gave. */
export const requestIdOf = (res: { locals: Record<string, unknown> }): string => String(res.locals['requestId']);
