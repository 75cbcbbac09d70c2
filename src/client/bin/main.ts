#!/usr/bin/env node
import { parseArgs, styleText } from 'node:util';
import { ApiError } from '../errors.js';
import { knownValues } from '../index.js';
import { isHttp, keyOf, reasonOf } from './delivery.js';
import { examine, textOf } from './examine.js';
import { START_OVER, listen } from './listen.js';
import { UsageError } from './usageError.js';

/** In seconds; a timer cannot run longer. */
const MAX_TIMEOUT = 2_147_483;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const OPTIONS = {
  listen: { forward: text, types: text, state: text, until: text, timeout: text },
  examine: { secret: text, json: flag },
};

const usage = `clinical-encounter-client listen --forward URL [options]

Follows the event feed, and sends each event to URL like a webhook. Stop it and start it again: it continues where it was.

  --forward URL   where your receiver listens, for example http://127.0.0.1:4000/hooks
  --types LIST    only these types of events, separated by commas
  --state FILE    keeps the position and the secret; default .clinical-encounter-listen.json
  --until TYPE    ends with code 0 when an event of this type has been forwarded
  --timeout S     ends with code 1 after S seconds; default: never

CES_URL (default http://127.0.0.1:3000), CLIENT_ID and CLIENT_SECRET name the service and the API client, which needs
read:event. WEBHOOK_SECRET (whsec_…) signs the events; without it, a secret that is printed and kept in the state FILE.

clinical-encounter-client examine URL [options]

Sends valid, repeated, forged and unexpected events to your receiver at URL, and judges its responses by 17 checks. Needs
no service.

  --secret SECRET the secret with which your receiver verifies signatures (whsec_…); default WEBHOOK_SECRET
  --json          prints the report as JSON

Exit codes: 0 after success, 1 if a check did not pass, or after a failure or --timeout, 2 after wrong usage.
`;

try {
  await run();
} catch (error) {
  process.stderr.write(`${styleText('red', messageOf(error), { stream: process.stderr })}\n`);
  process.exitCode = isUsage(error) ? 2 : 1;
}

async function run(): Promise<void> {
  const { values, positionals } = parsed();
  const [command, ...others] = positionals;
  if (values.help) process.stdout.write(usage);
  else if (command === 'listen' && others.length === 0) await runListen(ofCommand(command, values));
  else if (command === 'examine' && others.length <= 1) await runExamine(others[0], ofCommand(command, values));
  else throw new UsageError(`Give one command: listen without an argument, or examine with one URL.\n\n${usage}`);
}

type Values = ReturnType<typeof parsed>['values'];

function parsed() {
  const options = { ...OPTIONS.listen, ...OPTIONS.examine, help: flag };
  return parseArgs({ allowPositionals: true, options });
}

/** The options, if all belong to the command. @throws UsageError */
function ofCommand(command: keyof typeof OPTIONS, values: Values): Values {
  const other = Object.keys(values).find((name) => !(name in OPTIONS[command]));
  if (other) throw new UsageError(`${command} has no option --${other}. See --help.`);
  return values;
}

async function runListen(values: Values): Promise<void> {
  const { CES_URL = 'http://127.0.0.1:3000', CLIENT_ID, CLIENT_SECRET, WEBHOOK_SECRET } = process.env;
  const { forward, types, until, timeout, state = '.clinical-encounter-listen.json' } = values;
  if (!forward || !isHttp(forward))
    throw new UsageError('--forward needs an http(s) URL, for example http://127.0.0.1:4000/hooks.');
  if (!CLIENT_ID || !CLIENT_SECRET)
    throw new UsageError('Set CLIENT_ID and CLIENT_SECRET, of an API client that has read:event.');
  if (WEBHOOK_SECRET && keyOf(WEBHOOK_SECRET).length === 0)
    throw new UsageError(
      'WEBHOOK_SECRET is not the secret of a receiver (whsec_…): correct it, or unset it to sign with the secret of the --state file.',
    );
  if (until !== undefined && !knownValues.EventType.some((type) => type === until))
    throw new UsageError(
      `--until needs one of these types: ${knownValues.EventType.join(', ')}. For a newer one, install the service's client again.`,
    );
  if (timeout !== undefined && !(Number(timeout) > 0 && Number(timeout) <= MAX_TIMEOUT))
    throw new UsageError(`--timeout needs a number of seconds above 0 and up to ${MAX_TIMEOUT}.`);
  if (timeout)
    setTimeout(
      end,
      Number(timeout) * 1000,
      `Stopped after ${timeout} s${until ? ` without forwarding an event ${until}: check that --types, if given, includes it; cause one that CLIENT_ID may see; see that your receiver accepts all events; or raise --timeout` : ''}.`,
    ).unref();
  await listen({
    ...{ baseUrl: CES_URL, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, secret: WEBHOOK_SECRET, forward, state },
    ...{ types: types?.split(','), until },
    print: (line) => process.stdout.write(`${line}\n`),
  });
}

async function runExamine(url = '', { secret = process.env['WEBHOOK_SECRET'] ?? '', json }: Values): Promise<void> {
  const report = await examine(url, secret);
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report, styleText));
  process.exitCode = report.passed === report.checks.length ? 0 : 1;
}

/** Ends the program immediately, which loses nothing: the position is stored after each event. */
function end(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** Whether the error is a mistake by the user, such as an option that `parseArgs` does not know. */
function isUsage(error: unknown): boolean {
  const code = String((error as NodeJS.ErrnoException).code);
  return error instanceof UsageError || code.startsWith('ERR_PARSE_ARGS');
}

function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    const lost = `The feed cannot be continued at the position in the --state file: ${START_OVER}.`;
    return `${error.code === 'cursor_invalid' ? lost : error.message}${error.docUrl ? ` ${error.docUrl}` : ''}`;
  }
  if (!(error instanceof Error)) return String(error);
  if (error instanceof UsageError) return error.message;
  if (isUsage(error)) return `${error.message.replace(/\.$/, '')}. See --help.`;
  const { cause } = error;
  if ('syscall' in error) return `The --state file cannot be used: ${error.message}. Correct that, or ${START_OVER}.`;
  const reason = cause instanceof Error ? `: ${reasonOf(cause)}` : '';
  return `${error.message}${reason}. Check CES_URL, that the service runs, and the network, proxies and certificates between.`;
}
