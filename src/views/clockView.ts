import type { Schemas } from '../contract.js';
import type { SandboxTime } from '../domain/sandbox/clock.js';

export function clockView({ now, offsetSeconds }: SandboxTime): Schemas['SandboxClock'] {
  return { now: now.toISOString(), offsetSeconds };
}
