import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { metrics } from '../telemetry.js';
import { openLineOutput } from './lineOutput.js';

/** Fields of a request's line (see http/listener/requestLog.ts) that a terminal shows in a sentence, or omits. */
const IN_SENTENCE = ['method', 'route', 'operationId', 'status', 'durationMs'];

/** The log of the process on standard output: lines of JSON, or readable ones on a `terminal`. */
export async function openServiceLog(
  level: string,
  terminal: DestinationStream | null = process.stdout.isTTY ? process.stdout : null,
): Promise<Logger> {
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime };
  if (terminal === null) {
    return pino(
      options,
      openLineOutput(process.stdout.fd, () => metrics?.lostLogLines.inc()),
    );
  }
  const { prettyFactory } = await import('pino-pretty');
  const readable = prettyFactory({
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: IN_SENTENCE.join(','),
    messageFormat: (log, key) => (log[key] === 'request' ? sentenceOf(log) : String(log[key])),
  });
  return pino(options, { write: (line) => terminal.write(readable(line)) });
}

function sentenceOf({ method, route, status, durationMs }: Readonly<Record<string, unknown>>): string {
  const what = [method, route, status ?? 'no response'].filter(Boolean).join(' ');
  return `${what} in ${Math.round(Number(durationMs))} ms`;
}
